package dev.redlock.loadtest.nodes;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Runs an executable with {@code --version}, to find its product and whether it runs on this machine at all.
 *
 * @threading any thread
 */
final class ServerBinary {
    private static final Pattern VERSION = Pattern.compile("(Redis|Valkey) server v=([0-9.]+)",
            Pattern.CASE_INSENSITIVE);
    private static final long LIMIT_SECONDS = 10;

    /** Product and version. */
    static String identify(Path executable) throws SourceRefusedException {
        String said = run(executable);
        Matcher matcher = VERSION.matcher(said);
        if (!matcher.find()) {
            throw new SourceRefusedException(executable.getFileName() + " --version printed: " + said);
        }
        return matcher.group(1).toLowerCase(Locale.ROOT) + "-server " + matcher.group(2);
    }

    private static String run(Path executable) throws SourceRefusedException {
        try {
            Process process = new ProcessBuilder(executable.toString(), "--version").redirectErrorStream(true).start();
            process.getOutputStream().close();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
            if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
            return said;
        } catch (IOException e) {
            throw new SourceRefusedException(executable.getFileName() + " does not run: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SourceRefusedException("interrupted while asking " + executable.getFileName());
        }
    }
}

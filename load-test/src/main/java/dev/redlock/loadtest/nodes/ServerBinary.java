package dev.redlock.loadtest.nodes;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** @threading any thread */
final class ServerBinary {
    private static final Pattern VERSION = Pattern.compile("(Redis|Valkey) server v=([0-9.]+)",
            Pattern.CASE_INSENSITIVE);

    /** Product and version. */
    static String identify(Path executable) throws SourceRefusedException {
        try {
            String said = Shell.run(List.of(executable.toString(), "--version")).said();
            Matcher matcher = VERSION.matcher(said);
            if (!matcher.find()) {
                throw new SourceRefusedException(executable.getFileName() + " --version printed: " + said);
            }
            return matcher.group(1).toLowerCase(Locale.ROOT) + "-server " + matcher.group(2);
        } catch (IOException e) {
            throw new SourceRefusedException(executable.getFileName() + " does not run: " + e.getMessage());
        }
    }
}

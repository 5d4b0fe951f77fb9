package dev.redlock.loadtest.report;

import dev.redlock.loadtest.result.LibraryVersion;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.Map;

/**
 * The constant parts of every report, from the class path: page, style, script and chart library (Apache ECharts).
 *
 * @threading immutable
 */
final class ReportAssets {
    private static final String OWN = "/dev/redlock/loadtest/report/";

    /** The page of a report, with places for its parts. */
    static String template() throws IOException {
        return read(OWN + "report.html");
    }

    static String script() throws IOException {
        return read(OWN + "report.js");
    }

    /** The parts of the template that are the same in each report; the charts are a build with lines and bars. */
    static Map<String, String> parts() throws IOException {
        String version = LibraryVersion.number("org.webjars", "echarts");
        String charts = read("/META-INF/resources/webjars/echarts/" + version + "/echarts.common.min.js");
        String script = script();
        return Map.of("style", read(OWN + "report.css"), "script", script, "scriptDigest", digest(script), "charts",
                charts, "chartsDigest", digest(charts), "chartsVersion", Markup.text(version));
    }

    /** The name of a script in a content security policy: the digest of the text between its tags. */
    private static String digest(String script) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(script.getBytes(StandardCharsets.UTF_8));
            return "'sha256-" + Base64.getEncoder().encodeToString(digest) + "'";
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JDK has no SHA-256", e);
        }
    }

    private static String read(String name) throws IOException {
        try (InputStream in = ReportAssets.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IOException(name + " is not on the class path");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}

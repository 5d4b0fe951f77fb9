package dev.redlock.loadtest;

import dev.redlock.loadtest.report.HtmlReport;
import dev.redlock.loadtest.result.ReportWriter;
import java.util.List;

/**
 * What is made of every run beside the machine-readable files. The first one is shown to the user.
 *
 * @threading immutable
 */
final class Reports {
    static final List<ReportWriter> WRITERS = List.of(new HtmlReport());

    private Reports() {
    }
}

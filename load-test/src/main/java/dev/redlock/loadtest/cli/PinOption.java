package dev.redlock.loadtest.cli;

import dev.redlock.cli.Options;
import dev.redlock.trial.nodes.CorePin;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/**
 * The option for the processor cores of the started nodes. The client stays free: the compiler, the collector and the
 * sender of an open loop would share one core with its event loop.
 *
 * @threading caller-confined
 */
final class PinOption {
    private static final String NAME = "--pin";

    @Option(names = NAME, paramLabel = "CORES", defaultValue = "none",
            description = "Cores on which the started nodes run: auto (all but the first, where the system supports "
                    + "that), none (the kernel chooses), or numbers such as 1 or 2-5,7 (default: ${DEFAULT-VALUE}).")
    private String cores;

    /** Throws picocli's error for a value that is no list of cores. */
    void check(CommandLine line) {
        Options.requireParsed(line, NAME, () -> CorePin.parse(cores));
    }

    static boolean isGiven(CommandLine line) {
        return line.getParseResult().hasMatchedOption(NAME);
    }

    CorePin pin() {
        return CorePin.parse(cores);
    }
}

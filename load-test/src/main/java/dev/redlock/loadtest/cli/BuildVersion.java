package dev.redlock.loadtest.cli;

import dev.redlock.cli.Program;
import picocli.CommandLine;

/** @threading immutable */
public final class BuildVersion implements CommandLine.IVersionProvider {
    @Override
    public String[] getVersion() {
        return Invocation.PROGRAM.versionText(BuildVersion.class);
    }

    static String program() {
        return Program.version(BuildVersion.class);
    }
}

package dev.redlock.loadtest.cli;

import picocli.CommandLine;

/**
 * The text that {@code --version} prints.
 *
 * @threading immutable
 */
public final class BuildVersion implements CommandLine.IVersionProvider {
    @Override
    public String[] getVersion() {
        return new String[]{"redlock load-test " + program(),
            "Java " + Runtime.version() + ", " + System.getProperty("os.name") + " "
                    + System.getProperty("os.arch")};
    }

    static String program() {
        String version = BuildVersion.class.getPackage().getImplementationVersion();
        return version == null ? "(not from a jar)" : version;
    }
}

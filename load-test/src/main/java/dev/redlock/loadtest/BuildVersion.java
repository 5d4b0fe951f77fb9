package dev.redlock.loadtest;

import picocli.CommandLine;

/**
 * What {@code --version} prints.
 *
 * @threading immutable
 */
public final class BuildVersion implements CommandLine.IVersionProvider {
    @Override
    public String[] getVersion() {
        String version = Main.class.getPackage().getImplementationVersion();
        return new String[]{"redlock load-test " + (version == null ? "(not from a jar)" : version),
            "Java " + Runtime.version() + ", " + System.getProperty("os.name") + " "
                    + System.getProperty("os.arch")};
    }
}

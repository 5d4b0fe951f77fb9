package dev.redlock.cli;

import picocli.CommandLine;

/**
 * The text that {@code --version} prints.
 *
 * @threading immutable
 */
final class BuildVersion implements CommandLine.IVersionProvider {

    BuildVersion() {
        // picocli creates it.
    }

    @Override
    public String[] getVersion() {
        return Main.PROGRAM.versionText(BuildVersion.class);
    }
}

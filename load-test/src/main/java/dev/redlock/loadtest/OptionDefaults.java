package dev.redlock.loadtest;

import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * Defaults that differ between the commands that share an option.
 *
 * @threading immutable
 */
abstract class OptionDefaults implements CommandLine.IDefaultValueProvider {
    private final Map<String, String> byName;

    OptionDefaults(Map<String, String> byName) {
        this.byName = byName;
    }

    @Override
    public final String defaultValue(ArgSpec argument) {
        return argument instanceof OptionSpec option ? byName.get(option.longestName()) : null;
    }
}

package dev.redlock.loadtest.cli;

import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * Default values of options that have another default in other commands.
 *
 * @threading immutable
 */
public abstract class OptionDefaults implements CommandLine.IDefaultValueProvider {
    private final Map<String, String> byName;

    public OptionDefaults(Map<String, String> byName) {
        this.byName = byName;
    }

    @Override
    public final String defaultValue(ArgSpec argument) {
        return argument instanceof OptionSpec option ? byName.get(option.longestName()) : null;
    }
}

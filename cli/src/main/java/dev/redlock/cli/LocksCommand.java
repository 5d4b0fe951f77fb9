package dev.redlock.cli;

import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/**
 * Shows and breaks locks on running nodes.
 *
 * @threading caller-confined
 */
@Command(name = "locks", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        synopsisSubcommandLabel = "(list|show|top|break)",
        description = "Shows which locks are held on running nodes, by which client and for how long, and breaks one. "
                + "It shows the id of a value instead of the value, because a client with the value can release the "
                + "lock. The client name is known if the holder sets RedlockContext.nameInValues.",
        footer = {"  redlock locks list orders/ --nodes a:6379,b:6379,c:6379",
            "  redlock locks show orders/42 --nodes a:6379,b:6379,c:6379",
            "  redlock locks top --nodes a:6379,b:6379,c:6379",
            "  redlock locks break orders/42 3f9a01c2 --nodes a:6379,b:6379",
            "  redlock locks list --nodes rediss://a:6380 --tls-ca ca.pem"})
final class LocksCommand implements Runnable {

    static final List<Class<?>> COMMANDS = List.of(LocksListCommand.class, LocksShowCommand.class,
            LocksTopCommand.class, LocksBreakCommand.class);

    @Spec
    private CommandSpec spec;

    LocksCommand() {
        // picocli fills the fields.
    }

    @Override
    public void run() {
        throw new CommandLine.ParameterException(spec.commandLine(),
                "locks needs a command: write locks list, show, top or break");
    }
}

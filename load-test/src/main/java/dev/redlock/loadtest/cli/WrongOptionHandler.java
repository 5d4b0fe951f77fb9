package dev.redlock.loadtest.cli;

import java.io.PrintWriter;
import picocli.CommandLine;

/**
 * Prints an error of the command line in few lines, so that it does not scroll away behind the help.
 *
 * @threading immutable
 */
public final class WrongOptionHandler implements CommandLine.IParameterExceptionHandler {
    @Override
    public int handleParseException(CommandLine.ParameterException failure, String[] args) {
        CommandLine line = failure.getCommandLine();
        PrintWriter err = line.getErr();
        err.println(failure.getMessage());
        CommandLine.UnmatchedArgumentException.printSuggestions(failure, err);
        err.println("All options: " + Invocation.help(line));
        return line.getCommandSpec().exitCodeOnInvalidInput();
    }
}

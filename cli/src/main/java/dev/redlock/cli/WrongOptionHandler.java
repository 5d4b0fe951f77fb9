package dev.redlock.cli;

import java.io.PrintWriter;
import picocli.CommandLine;

/**
 * Prints an error of the command line in few lines, so that it does not scroll away behind the help.
 *
 * @threading immutable
 */
final class WrongOptionHandler implements CommandLine.IParameterExceptionHandler {

    private final Program program;

    WrongOptionHandler(Program program) {
        this.program = program;
    }

    @Override
    public int handleParseException(CommandLine.ParameterException failure, String[] args) {
        CommandLine line = failure.getCommandLine();
        PrintWriter err = line.getErr();
        err.println(failure.getMessage());
        CommandLine.UnmatchedArgumentException.printSuggestions(failure, err);
        err.println("All options: " + program.help(line));
        return line.getCommandSpec().exitCodeOnInvalidInput();
    }
}

package dev.redlock.loadtest.nodes;

import java.io.IOException;
import java.nio.file.Path;

/**
 * Starts server processes from one executable.
 *
 * @param source     the source of the executable
 * @param executable the server
 * @param product    its name and version
 * @threading immutable
 */
record LocalLauncher(Source source, Path executable, String product) implements NodeLauncher {

    @Override
    public NodeProcess launch(NodeSpec spec) throws IOException {
        return LocalProcess.start(executable, spec);
    }
}

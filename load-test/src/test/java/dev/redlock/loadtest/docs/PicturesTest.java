package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The pictures show the figures beside the pages: drawn again, they are the same. */
class PicturesTest {

    @TempDir
    private Path folder;

    @Test
    void thePicturesShowTheFiguresBesideThePage() throws Exception {
        Path images = DocPages.root().resolve("docs/images");
        Path servers = DocPages.root().resolve("docs/guides/figures/servers-per-core.csv");
        Path tails = DocPages.root().resolve("docs/internals/figures/tails");
        Path crowds = DocPages.root().resolve("docs/internals/figures/crowds.csv");
        draw(servers.toString(), tails.toString(), crowds.toString());
        List<String> drawn = names(folder);
        assertEquals(10, drawn.size(), drawn::toString);
        assertEquals(drawn, names(images));
        for (String name : drawn) {
            assertEquals(Files.readString(folder.resolve(name)), Files.readString(images.resolve(name)),
                    name + " is old: java docs/images/Pictures.java docs/guides/figures/compare.csv docs/images "
                            + "docs/guides/figures/servers-per-core.csv docs/internals/figures/tails "
                            + "docs/internals/figures/crowds.csv");
        }
    }

    /** 3.2 us of all servers for a lock are 312 500 locks for each of their cores. */
    @Test
    void locksForEachCoreOfTheServersAreTheInverseOfTheirCpu() throws Exception {
        Path figures = Files.writeString(folder.resolve("servers.csv"), "in_flight,driver,nodes,servers_cpu_us\n"
                + "64,redlock-each,3,8\n64,redlock,3,4.0\n64,redlock-thrifty,3,3.2\n");
        draw(figures.toString());
        String drawn = Files.readString(folder.resolve("servers-light.svg"));
        for (String expected : List.of(">125 000<", ">250 000<", ">312 500<", ">thrifty<")) {
            assertTrue(drawn.contains(expected), expected);
        }
    }

    private void draw(String... more) throws Exception {
        List<String> command = new ArrayList<>(List.of(ProcessHandle.current().info().command().orElse("java"),
                DocPages.root().resolve("docs/images/Pictures.java").toString(),
                DocPages.root().resolve("docs/guides/figures/compare.csv").toString(), folder.toString()));
        command.addAll(List.of(more));
        Process drawing = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(drawing.getInputStream().readAllBytes());
        assertTrue(drawing.waitFor(60, TimeUnit.SECONDS), output);
        assertEquals(0, drawing.exitValue(), output);
    }

    private static List<String> names(Path images) throws IOException {
        try (Stream<Path> files = Files.list(images)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(".svg"))
                    .sorted()
                    .toList();
        }
    }
}

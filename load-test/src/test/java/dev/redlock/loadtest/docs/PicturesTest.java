package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The pictures of README show the figures of the comparison: drawn again, they are the same. */
class PicturesTest {

    @TempDir
    private Path folder;

    @Test
    void thePicturesShowTheFiguresBesideThePage() throws Exception {
        Path images = DocPages.root().resolve("docs/images");
        Process drawing = new ProcessBuilder(ProcessHandle.current().info().command().orElse("java"),
                images.resolve("Pictures.java").toString(),
                DocPages.root().resolve("docs/guides/figures/compare.csv").toString(), folder.toString())
                .redirectErrorStream(true)
                .start();
        String output = new String(drawing.getInputStream().readAllBytes());
        assertTrue(drawing.waitFor(60, TimeUnit.SECONDS), output);
        assertEquals(0, drawing.exitValue(), output);
        List<String> drawn = names(folder);
        assertEquals(4, drawn.size(), drawn::toString);
        assertEquals(drawn, names(images));
        for (String name : drawn) {
            assertEquals(Files.readString(folder.resolve(name)), Files.readString(images.resolve(name)),
                    name + " is old: java docs/images/Pictures.java docs/guides/figures/compare.csv docs/images");
        }
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

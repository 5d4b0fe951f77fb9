package dev.redlock.loadtest.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.result.ResultJson;
import dev.redlock.loadtest.result.RunResult;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ResultPlotsTest {
    @TempDir
    Path folder;

    @Test
    void severalDriversGiveThreePicturesOfEachLoad() throws Exception {
        List<Path> files = draw(SampleRuns.comparing("redlock", "lettuce").result());
        assertEquals(List.of("nodes-1-in-flight.png", "percentiles-1-in-flight.png", "drivers-1-in-flight.png",
                "nodes-64-in-flight.png", "percentiles-64-in-flight.png", "drivers-64-in-flight.png"),
                files.stream().map(file -> file.getFileName().toString()).toList());
        for (Path file : files) {
            assertDrawn(file);
        }
    }

    /** White paper has one colour. */
    private static void assertDrawn(Path file) throws IOException {
        BufferedImage image = ImageIO.read(file.toFile());
        Set<Integer> colours = new HashSet<>();
        for (int y = 0; y < image.getHeight(); y += 3) {
            for (int x = 0; x < image.getWidth(); x += 3) {
                colours.add(image.getRGB(x, y));
            }
        }
        assertTrue(colours.size() > 10, file + " has " + colours.size() + " colours");
    }

    @Test
    void oneDriverAtOneNodeCountGivesItsCurve() throws Exception {
        assertEquals(1, draw(SampleRuns.empty().add("redlock", 3, 64, 1, 100).result()).size());
    }

    @Test
    void fileWithoutResultsIsRejectedByName() throws Exception {
        Path file = Files.writeString(folder.resolve("other.json"), "{\"name\": \"something else\"}");
        String said = assertThrows(IOException.class, () -> ResultPlots.draw(file, folder)).getMessage();
        assertTrue(said.contains("other.json") && said.contains("expected a results.json"), said);
        Files.writeString(file, "no JSON");
        said = assertThrows(IOException.class, () -> ResultPlots.draw(file, folder)).getMessage();
        assertEquals(file + " is no JSON: expected a results.json of a run", said);
    }

    private List<Path> draw(RunResult result) throws IOException {
        Path file = Files.writeString(folder.resolve("results.json"), ResultJson.text(result));
        return ResultPlots.draw(file, folder.resolve("plots"));
    }
}

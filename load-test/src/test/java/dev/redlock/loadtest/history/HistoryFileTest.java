package dev.redlock.loadtest.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The file and its export. */
class HistoryFileTest {
    @TempDir
    private Path folder;

    @Test
    void lineIsReadBackAsItWasWritten() {
        String text = "81234 7 fail acquire chaos/0,chaos/{1}/3 plain 5 90000 TIMED_OUT/CONTENDED";
        assertEquals(text, HistoryLine.parse(text).toString());
        assertThrows(IllegalArgumentException.class, () -> HistoryLine.parse("81234 7 fail acquire"));
    }

    @Test
    void callsWithoutAnEndGetAnUnknownOne() throws IOException {
        Path file = write("10 1 invoke acquire a plain 0 0 -", "20 1 ok acquire a plain 5 100 ACQUIRED",
                "30 1 invoke write a plain 5 0 -", "31 2 invoke acquire a plain 0 0 -",
                "40 2 fail acquire a plain 0 0 TIMED_OUT");
        assertEquals(6, HistoryFile.complete(file, 50));
        List<String> lines = Files.readAllLines(file);
        assertEquals("50 1 info write a plain 5 0 -", lines.get(lines.size() - 1));
    }

    @Test
    void existingFileIsNotOverwritten() throws IOException {
        Path file = write();
        assertThrows(FileAlreadyExistsException.class, () -> HistoryFile.create(file));
    }

    /** A released lease, one that expires, one that is never acquired, and a reader, which is not part of a mutex. */
    @Test
    void mutexIsExportedWithTheEndsOfLeases() throws IOException {
        Path file = write("10 1 invoke acquire a plain 0 0 -", "20 1 ok acquire a plain 5 100 ACQUIRED",
                "30 1 invoke release a plain 5 30 -", "40 1 ok release a plain 5 0 RELEASED",
                "32 2 invoke acquire a,b plain 0 0 -", "50 2 ok acquire a,b plain 6 150 ACQUIRED",
                "60 3 invoke acquire a plain 0 0 -", "70 3 fail acquire a plain 0 0 TIMED_OUT",
                "160 3 invoke acquire a reader 0 0 -", "170 3 ok acquire a reader 0 300 ACQUIRED");
        assertEquals(List.of(map(0, 10, 1, "invoke", "acquire", "nil"), map(1, 20, 1, "ok", "acquire", "5"),
                map(2, 30, 4, "invoke", "release", "5"), map(3, 32, 2, "invoke", "acquire", "nil"),
                map(4, 40, 4, "ok", "release", "5"), map(5, 50, 2, "ok", "acquire", "6"),
                map(6, 60, 3, "invoke", "acquire", "nil"), map(7, 70, 3, "fail", "acquire", "nil"),
                map(8, 150, 5, "invoke", "release", "6"), map(9, 150, 5, "ok", "release", "6")),
                exported(file, "a", EdnHistory.Model.MUTEX));
        assertEquals(4, exported(file, "b", EdnHistory.Model.MUTEX).size());
        assertTrue(EdnHistory.read(file, "a", EdnHistory.Model.REGISTER).isEmpty());
    }

    @Test
    void leaseThatWasLostEndsWhereItWasLastHeldAndAnExtendedOneLater() throws IOException {
        Path file = write("10 1 invoke acquire a plain 0 0 -", "20 1 ok acquire a plain 0 100 ACQUIRED",
                "30 1 invoke extend a plain 0 0 -", "40 1 ok extend a plain 0 140 EXTENDED",
                "90 1 invoke release a plain 0 80 -", "95 1 fail release a plain 0 0 EXPIRED",
                "110 1 invoke acquire a plain 0 0 -", "120 1 ok acquire a plain 0 200 ACQUIRED",
                "130 1 invoke extend a plain 0 0 -", "140 1 ok extend a plain 0 230 EXTENDED");
        List<String> maps = exported(file, "a", EdnHistory.Model.MUTEX);
        assertEquals(map(2, 80, 2, "invoke", "release", "nil"), maps.get(2));
        assertEquals(map(3, 95, 2, "ok", "release", "nil"), maps.get(3));
        assertEquals(map(6, 230, 3, "invoke", "release", "nil"), maps.get(6));
    }

    @Test
    void registerIsExportedWithRejectedWritesAsFailed() throws IOException {
        Path file = write("10 1 invoke write a plain 5 0 -", "20 1 ok write a plain 5 0 ACCEPTED",
                "30 2 invoke read a plain 6 0 -", "40 2 ok read a plain 5 0 -", "50 2 invoke write a plain 4 0 -",
                "60 2 fail write a plain 4 0 REJECTED");
        List<String> maps = exported(file, "a", EdnHistory.Model.REGISTER);
        assertEquals(map(1, 20, 1, "ok", "write", "5"), maps.get(1));
        assertEquals(map(3, 40, 2, "ok", "read", "5"), maps.get(3));
        assertEquals(map(5, 60, 2, "fail", "write", "4"), maps.get(5));
    }

    @Test
    void damagedLineIsNamed() throws IOException {
        Path file = write("10 1 invoke acquire a plain 0 0 -", "20 1 \u001b[31m acquire a plain 5 100 ACQUIRED");
        assertTrue(HistoryFile.isHistory(file));
        UncheckedIOException failure = assertThrows(UncheckedIOException.class,
                () -> EdnHistory.read(file, "a", EdnHistory.Model.MUTEX));
        assertEquals(file + ", line 3 is no operation: 20 1 \\u001b[31m acquire a plain 5 100 ACQUIRED",
                failure.getCause().getMessage());
        assertFalse(HistoryFile.isHistory(Files.write(folder.resolve("other"), new byte[]{'#', ' ', (byte) 0xFF})));
    }

    private List<String> exported(Path file, String resource, EdnHistory.Model model) throws IOException {
        Path out = folder.resolve("out.edn");
        EdnHistory.read(file, resource, model).write(out);
        return Files.readAllLines(out);
    }

    private static String map(int index, long timeNs, int process, String type, String name, String value) {
        return "{:index " + index + ", :time " + timeNs + ", :process " + process + ", :type :" + type + ", :f :" + name
                + ", :value " + value + "}";
    }

    private Path write(String... lines) throws IOException {
        Path file = folder.resolve("history");
        HistoryFile.create(file);
        Files.write(file, Arrays.asList(lines), StandardOpenOption.APPEND);
        return file;
    }
}

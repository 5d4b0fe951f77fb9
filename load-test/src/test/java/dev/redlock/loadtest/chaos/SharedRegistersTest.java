package dev.redlock.loadtest.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two mappings of one file are one set of registers. */
class SharedRegistersTest {
    @TempDir
    private Path folder;

    @Test
    void lowerTokenOfAnotherMappingIsRejected() throws Exception {
        Path file = folder.resolve("registers");
        SharedRegisters.create(file, 2);
        SharedRegisters one = SharedRegisters.open(file);
        SharedRegisters other = SharedRegisters.open(file);
        assertTrue(one.write(1, 6));
        assertFalse(other.write(1, 5));
        assertTrue(other.write(1, 6));
        assertEquals(6, other.read(1));
        assertEquals(0, other.read(0));
    }
}

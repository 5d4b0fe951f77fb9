package dev.redlock.trial.nodes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Folders of dead processes are removed, and no others. */
class TemporaryFoldersTest {
    @TempDir
    private Path parent;

    /** A process that owns a folder until its standard input ends. */
    public static final class Owner {
        private Owner() {
            // Has only main.
        }

        public static void main(String[] args) throws IOException {
            System.out.println(TemporaryFolders.create(Path.of(args[0]), "redlock-chaos-"));
            System.in.read();
        }
    }

    @Test
    void folderOfAKilledProcessIsRemovedByTheNext() throws Exception {
        Process owner = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                Owner.class.getName(), parent.toString()).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        Path left = Path.of(owner.inputReader().readLine());
        Files.writeString(Files.createDirectory(left.resolve("node0")).resolve("dump.rdb"), "data");
        Path own = TemporaryFolders.create(parent, "redlock-nodes-");
        assertTrue(Files.exists(left.resolve("node0/dump.rdb")), "its process lives");
        owner.destroyForcibly().waitFor();
        Path next = TemporaryFolders.create(parent, "redlock-nodes-");
        assertFalse(Files.exists(left));
        assertTrue(Files.exists(own), "this process lives");
        TemporaryFolders.delete(next);
        TemporaryFolders.delete(own);
        assertEquals(0, parent.toFile().list().length);
    }

    @Test
    void folderThatIsKeptOrOfSomebodyElseStays() throws IOException {
        Path kept = TemporaryFolders.create(parent, "redlock-chaos-");
        Path records = Files.writeString(kept.resolve("records"), "evidence");
        TemporaryFolders.keep(kept);
        Path unlocked = Files.createDirectory(parent.resolve("redlock-nodes-1"));
        Path other = Files.createDirectory(parent.resolve("other"));
        Files.createFile(other.resolve(TemporaryFolders.LOCK));
        TemporaryFolders.delete(TemporaryFolders.create(parent, "redlock-nodes-"));
        assertTrue(Files.exists(records) && Files.exists(unlocked) && Files.exists(other));
        assertEquals(1, kept.toFile().list().length);
    }
}

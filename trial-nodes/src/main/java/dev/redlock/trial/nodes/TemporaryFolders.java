package dev.redlock.trial.nodes;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The temporary folders of this program. A process that is killed cannot remove its folders, so the next one does: each
 * folder has a file that its process locks, and the system releases the lock with the end of the process.
 *
 * @threading any thread
 */
public final class TemporaryFolders {
    static final String LOCK = "owner.lock";
    private static final Pattern OURS = Pattern
            .compile("(redlock-nodes|redlock-chaos|consensus-servers|versus-commit|first-second)-.*");
    /** A second channel to such a file would release its lock when it is closed. */
    private static final Map<Path, FileChannel> OWN = new HashMap<>();

    /** Creates an empty folder, but for its lock, in the default place. Returns its real path. */
    public static Path create(String prefix) throws IOException {
        return create(Path.of(System.getProperty("java.io.tmpdir")), prefix);
    }

    /** Creates an empty folder, but for its lock, and removes those of dead processes beside it. */
    public static synchronized Path create(Path parent, String prefix) throws IOException {
        if (!OURS.matcher(prefix).matches()) {
            throw new IllegalArgumentException(prefix + " is no prefix of this program's folders");
        }
        while (true) {
            Path folder = Files.createTempDirectory(parent, prefix).toRealPath();
            FileChannel lock = FileChannel.open(folder.resolve(LOCK), StandardOpenOption.CREATE_NEW,
                    StandardOpenOption.WRITE);
            // Another process may have taken the folder for one of a dead process before it was locked.
            if (lock.tryLock() != null && Files.exists(folder.resolve(LOCK))) {
                OWN.put(folder, lock);
                removeAbandoned(folder);
                return folder;
            }
            lock.close();
        }
    }

    public static synchronized void delete(Path folder) throws IOException {
        deleteTree(folder);
        unlock(folder);
    }

    public static synchronized void keep(Path folder) throws IOException {
        Files.deleteIfExists(folder.resolve(LOCK));
        unlock(folder);
    }

    private static void unlock(Path folder) throws IOException {
        FileChannel lock = OWN.remove(folder);
        if (lock != null) {
            lock.close();
        }
    }

    /** Removes what it can; the rest is no reason to fail. */
    private static void removeAbandoned(Path own) {
        try {
            Object user = Files.getOwner(own);
            for (Path folder : folders(own.getParent())) {
                if (!OWN.containsKey(folder) && Files.getOwner(folder, LinkOption.NOFOLLOW_LINKS).equals(user)) {
                    removeIfAbandoned(folder);
                }
            }
        } catch (IOException | UnsupportedOperationException e) {
            return;
        }
    }

    private static List<Path> folders(Path parent) throws IOException {
        try (Stream<Path> paths = Files.list(parent)) {
            return paths.filter(path -> OURS.matcher(path.getFileName().toString()).matches()
                    && Files.isRegularFile(path.resolve(LOCK), LinkOption.NOFOLLOW_LINKS)).toList();
        }
    }

    private static void removeIfAbandoned(Path folder) {
        try (FileChannel lock = FileChannel.open(folder.resolve(LOCK), StandardOpenOption.WRITE,
                LinkOption.NOFOLLOW_LINKS)) {
            if (lock.tryLock() != null) {
                deleteTree(folder);
            }
        } catch (IOException e) {
            // Its process has just removed it, or a file of it cannot be removed.
            return;
        }
    }

    /** Removes a folder with its content; does nothing if it does not exist. */
    public static void deleteTree(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        for (Path path : deepestFirst(folder)) {
            Files.deleteIfExists(path);
        }
    }

    private static List<Path> deepestFirst(Path folder) throws IOException {
        try (Stream<Path> paths = Files.walk(folder)) {
            return paths.sorted(Comparator.reverseOrder()).collect(Collectors.toList());
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }
}

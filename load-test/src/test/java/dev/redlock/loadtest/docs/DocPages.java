package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * The pages of the documentation: README.md, CONTRIBUTING.md, CHANGELOG.md, docs/ and the README.md of each folder of
 * integrations/, of the project that the tests run in.
 */
public final class DocPages {
    private DocPages() {
    }

    public static Path root() {
        Path folder = Path.of("").toAbsolutePath();
        while (!Files.exists(folder.resolve("README.md"))) {
            folder = folder.getParent();
            assertTrue(folder != null, "README.md is above the module");
        }
        return folder;
    }

    public static String text(String page) throws IOException {
        return Files.readString(root().resolve(page));
    }

    public static List<Path> all() throws IOException {
        List<Path> pages = new ArrayList<>();
        for (String name : List.of("README.md", "CONTRIBUTING.md", "CHANGELOG.md")) {
            pages.add(root().resolve(name));
        }
        try (Stream<Path> modules = Files.list(root().resolve("integrations"))) {
            modules.map(module -> module.resolve("README.md")).sorted().forEach(pages::add);
        }
        try (Stream<Path> docs = Files.walk(root().resolve("docs"))) {
            docs.filter(file -> file.toString().endsWith(".md")).sorted().forEach(pages::add);
        }
        return pages;
    }

    /** All pages, and those of the test kit, of the modules in integrations/ and of a sample. */
    public static List<Path> withModules() throws IOException {
        List<Path> pages = all();
        pages.add(root().resolve("test-kit/README.md"));
        pages.add(root().resolve("samples/postgresql/README.md"));
        try (Stream<Path> modules = Files.list(root().resolve("integrations"))) {
            modules.map(module -> module.resolve("README.md")).filter(Files::exists).sorted().forEach(pages::add);
        }
        return pages;
    }
}

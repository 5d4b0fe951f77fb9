package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every relative link of the prose leads to a file, and every anchor to a heading; the index has every page. */
class DocLinksTest {
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
    @TempDir
    private Path folder;

    @Test
    void everyRelativeLinkResolves() throws IOException {
        List<String> broken = new ArrayList<>();
        int count = 0;
        for (Path page : DocPages.withModules()) {
            List<String> links = relativeLinks(page);
            count += links.size();
            for (String link : links) {
                if (!resolves(page, link)) {
                    broken.add(DocPages.root().relativize(page) + ": " + link);
                }
            }
        }
        assertEquals(List.of(), broken);
        assertTrue(count > 50, "links found: " + count);
    }

    @Test
    void theIndexHasEveryPage() throws IOException {
        Path index = DocPages.root().resolve("docs/README.md");
        Set<Path> linked = linkedFrom(index);
        linked.addAll(linkedFrom(DocPages.root().resolve("docs/decisions/README.md")));
        List<String> missing = DocPages.all()
                .stream()
                .filter(page -> page.startsWith(index.getParent()) && !page.equals(index) && !linked.contains(page))
                .map(page -> index.getParent().relativize(page).toString())
                .toList();
        assertEquals(List.of(), missing);
        Path front = DocPages.root().resolve("README.md");
        assertTrue(relativeLinks(front).contains("docs/README.md"), "README.md leads here");
    }

    private static Set<Path> linkedFrom(Path index) throws IOException {
        Set<Path> linked = new HashSet<>();
        for (String link : relativeLinks(index)) {
            linked.add(index.resolveSibling(link).normalize());
        }
        return linked;
    }

    @Test
    void brokenLinksAreFound() throws IOException {
        Path page = Files.writeString(folder.resolve("page.md"), "# `A` page, or two: 5 %\n\n## Twice\n\n## Twice\n");
        assertTrue(resolves(page, "page.md"));
        assertTrue(resolves(page, "#a-page-or-two-5-"));
        assertTrue(resolves(page, "page.md#twice-1"));
        assertEquals(List.of(false, false, false), List.of(resolves(page, "other.md"), resolves(page, "#b-page"),
                resolves(page, "page.md#twice-2")));
        Files.writeString(page, "[a](b.md) `[no](link)` [c](https://example.org) ![d](e.png)\n```\n[f](g)\n```\n");
        assertEquals(List.of("b.md", "e.png"), relativeLinks(page));
    }

    private static List<String> relativeLinks(Path page) throws IOException {
        List<String> links = new ArrayList<>();
        for (String line : prose(page)) {
            Matcher link = LINK.matcher(line.replaceAll("`[^`]*`", ""));
            while (link.find()) {
                if (!link.group(1).matches("[a-z]+:.*")) {
                    links.add(link.group(1));
                }
            }
        }
        return links;
    }

    static boolean resolves(Path page, String link) throws IOException {
        int hash = link.indexOf('#');
        String path = hash < 0 ? link : link.substring(0, hash);
        Path target = path.isEmpty() ? page : page.resolveSibling(path).normalize();
        return Files.exists(target) && (hash < 0 || anchors(target).contains(link.substring(hash + 1)));
    }

    /** As the usual renderers name headings: lower case, no punctuation, blanks to hyphens, numbered if met again. */
    private static Set<String> anchors(Path page) throws IOException {
        Map<String, Integer> met = new HashMap<>();
        Set<String> anchors = new HashSet<>();
        for (String line : prose(page)) {
            if (line.matches("#{1,6} .*")) {
                String heading = line.replaceFirst("#+ ", "").strip().toLowerCase(Locale.ROOT);
                String name = heading.replaceAll("[^\\p{L}\\p{N} _-]", "").replace(' ', '-');
                int before = met.merge(name, 1, Integer::sum) - 1;
                anchors.add(before == 0 ? name : name + "-" + before);
            }
        }
        return anchors;
    }

    /** The lines outside of fenced blocks. */
    private static List<String> prose(Path page) throws IOException {
        List<String> lines = new ArrayList<>();
        boolean isFenced = false;
        for (String line : Files.readAllLines(page)) {
            if (line.strip().startsWith("```")) {
                isFenced = !isFenced;
            } else if (!isFenced) {
                lines.add(line);
            }
        }
        return lines;
    }
}

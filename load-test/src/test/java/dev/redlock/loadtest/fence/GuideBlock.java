package dev.redlock.loadtest.fence;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.loadtest.docs.DocBlock;
import dev.redlock.loadtest.docs.DocPages;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/** What the page on fencing shows, so that the tests try what the reader copies. */
final class GuideBlock {
    private GuideBlock() {
    }

    /** The text of the page's only block in a language. */
    static String text(String language) {
        try {
            List<DocBlock> blocks = DocBlock.in(DocPages.root().resolve("docs/guides/fencing.md"))
                    .stream()
                    .filter(block -> block.language().equals(language))
                    .toList();
            assertEquals(1, blocks.size(), () -> "blocks of " + language + ": " + blocks);
            return blocks.get(0).text();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

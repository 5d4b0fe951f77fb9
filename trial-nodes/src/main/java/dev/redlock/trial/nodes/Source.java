package dev.redlock.trial.nodes;

/**
 * The sources of nodes, in the order in which they are tried.
 *
 * @threading immutable
 */
public enum Source {
    /** Addresses named by the user. Once any is given, no other source is tried. */
    GIVEN("given addresses"),
    /** A redis-server or valkey-server found on PATH. */
    PATH("server on PATH"),
    /** The server binary shipped inside the embedded-redis artifact. */
    EMBEDDED("embedded server"), CONTAINER("container");

    private final String title;

    Source(String title) {
        this.title = title;
    }

    public String title() {
        return title;
    }
}

package dev.redlock.loadtest.nodes;

/**
 * Where nodes come from. The order of the constants is the order in which they are tried.
 *
 * @threading immutable
 */
public enum Source {
    /** Addresses named by the user. Once any is given, no other source is tried. */
    GIVEN("given addresses"),
    /** A redis-server or valkey-server found on PATH. */
    PATH("server on PATH"),
    /** The server binary shipped inside the embedded-redis artifact. */
    EMBEDDED("embedded server"),
    /** Containers, where a Docker engine answers. */
    CONTAINER("container");

    private final String title;

    Source(String title) {
        this.title = title;
    }

    /**
     * What a person calls it.
     *
     * @return a short noun phrase
     */
    public String title() {
        return title;
    }
}

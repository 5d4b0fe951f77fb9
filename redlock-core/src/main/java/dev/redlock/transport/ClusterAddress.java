package dev.redlock.transport;

import java.util.ArrayList;
import java.util.List;

/**
 * The address of a cluster: {@code redis-cluster://[user:password@]host:port[,host:port...]}, or {@code
 * rediss-cluster://} for TLS. The hosts are seeds: any of them reports all masters. Credentials and TLS are those of
 * every connection to the cluster.
 *
 * <p>{@link #toString} shows the address without user and password, and so do errors.
 *
 * @threading immutable
 */
public final class ClusterAddress implements VoterAddress {

    static final String SCHEME = "redis-cluster://";
    static final String SCHEME_TLS = "rediss-cluster://";
    static final String FORM = "write redis-cluster://[user:password@]host:port[,host:port...],"
            + " or rediss-cluster:// for TLS";

    /** More seeds add nothing: the first one that replies names all masters. */
    static final int SEEDS_MAX = 64;
    private static final int LENGTH_MAX = 16_384;

    private final List<NodeAddress> seeds;

    private ClusterAddress(List<NodeAddress> seeds) {
        this.seeds = List.copyOf(seeds);
    }

    static boolean isCluster(String text) {
        return text != null && (text.startsWith(SCHEME) || text.startsWith(SCHEME_TLS));
    }

    /**
     * Parses the address of a cluster.
     *
     * @throws IllegalArgumentException if it is malformed, or names a seed twice
     */
    static ClusterAddress parse(String text) {
        if (text.length() > LENGTH_MAX) {
            throw invalid("it is longer than " + LENGTH_MAX + " characters");
        }
        boolean isTls = text.startsWith(SCHEME_TLS);
        String rest = text.substring((isTls ? SCHEME_TLS : SCHEME).length());
        int at = rest.lastIndexOf('@');
        String login = at < 0 ? "" : rest.substring(0, at + 1);
        String[] places = rest.substring(at + 1).split(",", -1);
        if (places.length > SEEDS_MAX) {
            throw invalid("it has " + places.length + " seeds and at most " + SEEDS_MAX + " are allowed");
        }
        List<NodeAddress> seeds = new ArrayList<>();
        for (int i = 0; i < places.length; i++) {
            NodeAddress seed = parseSeed((isTls ? "rediss://" : "redis://") + login, places[i], i + 1);
            if (seeds.contains(seed)) {
                throw invalid("seed " + seed + " is given twice");
            }
            seeds.add(seed);
        }
        return new ClusterAddress(seeds);
    }

    private static NodeAddress parseSeed(String prefix, String place, int number) {
        if (place.isEmpty()) {
            throw invalid("seed " + number + " is empty");
        }
        if (place.indexOf('/') >= 0) {
            throw invalid("nothing may follow the port of seed " + number + ": a cluster has no databases");
        }
        try {
            return NodeAddress.parse(prefix + place);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("seed " + number + " of a cluster address: " + e.getMessage(), e);
        }
    }

    /** The text may contain a password, so an error does not show it. */
    private static IllegalArgumentException invalid(String rule) {
        return new IllegalArgumentException("cluster address is invalid: " + rule + "; " + FORM);
    }

    @Override
    public List<NodeAddress> servers() {
        return seeds;
    }

    @Override
    public NodeAddress access() {
        return seeds.get(0);
    }

    @Override
    public boolean isTls() {
        return seeds.get(0).isTls();
    }

    @Override
    public boolean hasPassword() {
        return seeds.get(0).hasPassword();
    }

    /** Two addresses are equal if they have the same seeds in the same order; credentials and TLS do not count. */
    @Override
    public boolean equals(Object o) {
        return o instanceof ClusterAddress other && seeds.equals(other.seeds);
    }

    @Override
    public int hashCode() {
        return seeds.hashCode();
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(isTls() ? SCHEME_TLS : SCHEME);
        for (int i = 0; i < seeds.size(); i++) {
            text.append(i == 0 ? "" : ",").append(seeds.get(i).place());
        }
        return text.toString();
    }
}

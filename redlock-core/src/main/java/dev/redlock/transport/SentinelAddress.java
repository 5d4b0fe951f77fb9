package dev.redlock.transport;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The address of a primary that Sentinels watch: {@code redis-sentinel://[user:password@]host[:port][,host...]/name},
 * or {@code rediss-sentinel://} for TLS, to the Sentinels and to the servers. User and password are those of the
 * servers.
 *
 * <p>{@link #toString} shows the address without user and password, and so do errors.
 *
 * @threading immutable
 */
public final class SentinelAddress implements VoterAddress {

    static final String SCHEME = "redis-sentinel://";
    static final String SCHEME_TLS = "rediss-sentinel://";
    static final String FORM = "write redis-sentinel://[user:password@]host:port[,host:port...]/name,"
            + " or rediss-sentinel:// for TLS";

    /** The port of a Sentinel without one. */
    public static final int DEFAULT_PORT = 26379;

    /** They are asked one after the other. */
    static final int SENTINELS_MAX = 16;
    private static final int LENGTH_MAX = 16_384;
    /** The documentation of Sentinels demands it: other characters would be ambiguous in their messages. */
    private static final Pattern NAME = Pattern.compile("[0-9A-Za-z._-]{1,128}");
    /** An address that still needs a name, or the # that some write before it. */
    private static final Pattern UNNAMED = Pattern.compile("(?s)rediss?-sentinel://(.*@)?[^/#]*");

    private final List<NodeAddress> sentinels;
    /** Has the credentials and the TLS of the servers; its place is that of a Sentinel. */
    private final NodeAddress server;
    private final String name;

    private SentinelAddress(List<NodeAddress> sentinels, NodeAddress server, String name) {
        this.sentinels = List.copyOf(sentinels);
        this.server = server;
        this.name = name;
    }

    /** @return whether a text is meant as the address of a group of Sentinels */
    public static boolean isSentinel(String text) {
        return text != null && (text.startsWith(SCHEME) || text.startsWith(SCHEME_TLS));
    }

    /**
     * Restores addresses with Sentinels that were split at their commas, as the lists of many configurations are. A
     * text without a scheme belongs to the address before it, if that one has no name yet.
     *
     * @param texts may contain null, which stays
     * @return the addresses; those of other forms stay as they are
     */
    public static List<String> joined(List<String> texts) {
        List<String> addresses = new ArrayList<>();
        for (String text : texts) {
            int last = addresses.size() - 1;
            if (last >= 0 && isUnnamed(addresses.get(last)) && text != null && !text.contains("://")) {
                addresses.set(last, addresses.get(last) + "," + text);
            } else {
                addresses.add(text);
            }
        }
        return addresses;
    }

    private static boolean isUnnamed(String text) {
        return text != null && UNNAMED.matcher(text).matches();
    }

    /**
     * Parses an address.
     *
     * @throws IllegalArgumentException if it is malformed, or names a Sentinel twice
     */
    public static SentinelAddress parse(String text) {
        if (text.length() > LENGTH_MAX) {
            throw invalid("it is longer than " + LENGTH_MAX + " characters", FORM);
        }
        boolean isTls = text.startsWith(SCHEME_TLS);
        String rest = text.substring((isTls ? SCHEME_TLS : SCHEME).length());
        int at = rest.lastIndexOf('@');
        String login = at < 0 ? "" : rest.substring(0, at + 1);
        String target = rest.substring(at + 1);
        int slash = target.indexOf('/');
        checkFragment(target);
        String name = slash < 0 ? "" : target.substring(slash + 1);
        String[] places = (slash < 0 ? target : target.substring(0, slash)).split(",", -1);
        if (places.length > SENTINELS_MAX) {
            throw invalid("it has " + places.length + " Sentinels and at most " + SENTINELS_MAX + " are allowed",
                    "name some of them");
        }
        String scheme = isTls ? "rediss://" : "redis://";
        List<NodeAddress> sentinels = new ArrayList<>();
        for (int i = 0; i < places.length; i++) {
            NodeAddress sentinel = parseSentinel(scheme, places[i], i + 1);
            if (sentinels.contains(sentinel)) {
                throw invalid("Sentinel " + sentinel.place() + " is given twice", "name each one once");
            }
            sentinels.add(sentinel);
        }
        checkName(name, sentinels.get(sentinels.size() - 1));
        return new SentinelAddress(sentinels, parseServer(scheme + login, sentinels.get(0)), name);
    }

    /** Other libraries write the name there. */
    private static void checkFragment(String target) {
        int hash = target.indexOf('#');
        if (hash >= 0) {
            String name = target.substring(hash + 1);
            throw invalid("the name of the primary follows a slash, not a #",
                    NAME.matcher(name).matches() ? "write host:port/" + name : FORM);
        }
    }

    private static void checkName(String name, NodeAddress last) {
        if (name.isEmpty()) {
            throw invalid("the name of the primary is missing", "end the address with " + last.place()
                    + "/mymaster, with the name that follows \"sentinel monitor\" in the configuration of the"
                    + " Sentinels");
        }
        int slash = name.indexOf('/');
        if (slash >= 0 && NAME.matcher(name.substring(0, slash)).matches()) {
            throw invalid("nothing may follow the name; all locks are in database 0",
                    "end the address with /" + name.substring(0, slash));
        }
        if (!NAME.matcher(name).matches()) {
            throw invalid("the name of the primary has a character that no name has, or more than 128 characters",
                    "write the name that follows \"sentinel monitor\" in the configuration of the Sentinels: letters,"
                            + " digits, dots, hyphens and underscores");
        }
    }

    private static NodeAddress parseSentinel(String scheme, String place, int number) {
        if (place.isEmpty()) {
            throw invalid("Sentinel " + number + " is empty", FORM);
        }
        boolean hasPort = place.indexOf(':', place.lastIndexOf(']') + 1) >= 0;
        try {
            return NodeAddress.parse(scheme + place + (hasPort ? "" : ":" + DEFAULT_PORT));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("Sentinel " + number + " of an address: " + e.getMessage(), e);
        }
    }

    private static NodeAddress parseServer(String prefix, NodeAddress sentinel) {
        try {
            return NodeAddress.parse(prefix + sentinel.place());
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("user and password of the servers behind Sentinels: " + e.getMessage(),
                    e);
        }
    }

    /** The text may contain a password, so an error does not show it. */
    private static IllegalArgumentException invalid(String rule, String fix) {
        return new IllegalArgumentException("address of Sentinels is invalid: " + rule + "; " + fix);
    }

    /** @return the name of the primary */
    public String name() {
        return name;
    }

    /**
     * Returns the address of a server that a Sentinel names.
     *
     * @param host its host name or IP address without brackets
     * @param port its port, 1 to 65535
     * @throws IllegalArgumentException if the host is malformed
     */
    public NodeAddress server(String host, int port) {
        return server.peer(host, port);
    }

    /** The Sentinels; user and password are those of the servers, so the Sentinels have none. */
    @Override
    public List<NodeAddress> servers() {
        return sentinels;
    }

    @Override
    public NodeAddress access() {
        return server;
    }

    @Override
    public boolean isTls() {
        return server.isTls();
    }

    @Override
    public boolean hasPassword() {
        return server.hasPassword();
    }

    /** Sentinels may watch several primaries, each of which is a voter. */
    @Override
    public boolean isSameVoter(VoterAddress other) {
        return other instanceof SentinelAddress group && group.name.equals(name)
                && !Collections.disjoint(sentinels, group.sentinels);
    }

    /** Two addresses are equal if they have the same Sentinels in the same order, and the same name. */
    @Override
    public boolean equals(Object o) {
        return o instanceof SentinelAddress other && name.equals(other.name) && sentinels.equals(other.sentinels);
    }

    @Override
    public int hashCode() {
        return 31 * sentinels.hashCode() + name.hashCode();
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(isTls() ? SCHEME_TLS : SCHEME);
        for (int i = 0; i < sentinels.size(); i++) {
            text.append(i == 0 ? "" : ",").append(sentinels.get(i).place());
        }
        return text.append('/').append(name).toString();
    }
}

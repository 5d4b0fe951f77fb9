package dev.redlock.engine;

import dev.redlock.node.KeySlot;
import dev.redlock.node.LockKind;
import dev.redlock.node.SlotKey;
import dev.redlock.resp.SafeText;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The keys of a lock and of its fencing counter, each encoded once as a RESP bulk string. The key of a set of resources
 * has those of its members, one after another.
 *
 * @threading immutable
 */
public final class LockKey implements SlotKey {

    /** Follows the lock's key in the counter's key. No lock's key may contain it, so no lock's key is a counter. */
    public static final String COUNTER_MARK = ":redlock:fence";

    /** Follows the semaphore's key in the key of each slot. No lock's key may contain it, so no lock is a slot. */
    public static final String PERMIT_MARK = ":redlock:permit";

    /** Follows a resource in the key of the intention of a waiting set. No lock's key may contain it. */
    public static final String INTENTION_MARK = ":redlock:intention";

    /** Permits of a semaphore at most. One command looks at all of them, and blocks its node meanwhile. */
    public static final int PERMITS_MAX = 256;

    /** Resources of a set at most. The scripts pass twice as many keys to one command. */
    public static final int MEMBERS_MAX = 64;

    private static final int CRLF_BYTES = 2;
    /** Characters of a too long name in its error message. */
    private static final int SHOWN_LENGTH_MAX = 32;

    private final String prefix;
    private final String resource;
    private final byte[] bulk;
    private final byte[] counterBulk;
    private final int nameLength;
    private final int hash;
    /** The slot of a cluster + 1; 0 until it is computed. */
    private int clusterSlot;
    /** The plain keys of the resources, in the order of their names; null for a plain key. */
    private final LockKey[] members;
    private final LockKind kind;
    private final int orderHash;
    /** The keys of other kinds of lock of the resource; null until they are needed. Any thread may make them again. */
    private LockKey reading;
    private LockKey writing;
    private LockKey permit;
    /** The number of a slot of a semaphore; 0 for another key. */
    private final int slotNumber;
    /** The slots of a semaphore, each null until it is needed; null for another kind. Any thread may make one. */
    private final LockKey[] slots;
    /** The key of the command that looks at all slots of a semaphore; null until it is needed. */
    private LockKey search;
    /** The keys of the intention of a set; null until they are needed. */
    private LockKey intention;
    /** The set whose intention this is; null for another key. */
    private final LockKey intending;

    private LockKey(String prefix, String resource, byte[] name, byte[] counterName) {
        this(prefix, resource, name, counterName, Arrays.hashCode(name), 0);
    }

    private LockKey(String prefix, String resource, byte[] name, byte[] counterName, int orderHash, int slotNumber) {
        this.prefix = prefix;
        this.resource = resource;
        this.bulk = bulkOf(name);
        this.counterBulk = bulkOf(counterName);
        this.nameLength = name.length;
        this.hash = Arrays.hashCode(name);
        this.slotNumber = slotNumber;
        this.members = null;
        this.slots = null;
        this.kind = LockKind.PLAIN;
        this.orderHash = orderHash;
        this.intending = null;
    }

    private LockKey(LockKey plain, LockKind kind) {
        this.prefix = plain.prefix;
        this.resource = plain.resource;
        this.bulk = plain.bulk;
        this.counterBulk = plain.counterBulk;
        this.nameLength = plain.nameLength;
        this.hash = plain.hash * 31 + kind.ordinal();
        this.slotNumber = 0;
        this.members = new LockKey[]{plain};
        this.slots = null;
        this.kind = kind;
        this.orderHash = plain.hash;
        this.intending = null;
    }

    /** A semaphore. No command has its bulk string, which differs from those with another number of permits. */
    private LockKey(LockKey plain, int permitCount) {
        this.prefix = plain.prefix;
        this.resource = plain.resource;
        this.bulk = Arrays.copyOf(plain.bulk, plain.bulk.length + Integer.BYTES);
        ByteBuffer.wrap(bulk).putInt(plain.bulk.length, permitCount);
        this.counterBulk = null;
        this.nameLength = plain.nameLength;
        this.hash = Arrays.hashCode(bulk);
        this.slotNumber = 0;
        this.members = new LockKey[]{plain};
        this.slots = new LockKey[permitCount];
        this.kind = LockKind.PERMIT;
        this.orderHash = plain.hash;
        this.intending = null;
    }

    private LockKey(LockKey[] members) {
        this(members, LockKind.SET, orderHashOf(members),
                Arrays.stream(members).map(LockKey::resource).toList().toString(), null);
    }

    private LockKey(LockKey[] members, LockKind kind, int orderHash, String resource, LockKey intending) {
        this.prefix = members[0].prefix;
        this.resource = resource;
        this.bulk = concatenated(Arrays.stream(members).map(LockKey::bulk).toArray(byte[][]::new));
        this.counterBulk = kind == LockKind.SET
                ? concatenated(Arrays.stream(members).map(LockKey::counterBulk).toArray(byte[][]::new))
                : null;
        this.nameLength = Arrays.stream(members).mapToInt(LockKey::nameLength).sum();
        this.hash = Arrays.hashCode(bulk);
        this.slotNumber = 0;
        this.members = members;
        this.slots = null;
        this.kind = kind;
        this.orderHash = orderHash;
        this.intending = intending;
    }

    private static byte[] concatenated(byte[][] parts) {
        byte[] all = new byte[Arrays.stream(parts).mapToInt(part -> part.length).sum()];
        int length = 0;
        for (byte[] part : parts) {
            System.arraycopy(part, 0, all, length, part.length);
            length += part.length;
        }
        return all;
    }

    /** Returns the length of the name with its prefix, bytes; of a set, that of all names. */
    int nameLength() {
        return nameLength;
    }

    /**
     * Encodes the keys of a resource.
     *
     * @param  prefix                   prefix of every key of the client
     * @param  resource                 name of the resource
     * @param  lengthBytesMax           limit of both together, bytes
     * @return                          the key
     * @throws IllegalArgumentException if it is empty or too long, is not valid UTF-16, or names a fencing counter
     */
    public static LockKey of(String prefix, String resource, int lengthBytesMax) {
        if (resource == null) {
            throw new NullPointerException("resource is null: give the name of the resource to lock");
        }
        if (resource.isEmpty()) {
            throw new IllegalArgumentException("resource \"\" is empty: give the name of the resource to lock");
        }
        checkEncodable("resource", resource);
        // Checked before it is encoded: a name may be very long.
        int lengthBytes = ByteBufUtil.utf8Bytes(prefix) + ByteBufUtil.utf8Bytes(resource);
        if (lengthBytes > lengthBytesMax) {
            throw new IllegalArgumentException("resource \"" + SafeText.of(resource, SHOWN_LENGTH_MAX) + "\" is "
                    + lengthBytes + " bytes long with its prefix: at most " + lengthBytesMax
                    + " are allowed (RedlockContext.resourceLengthMax)");
        }
        String key = prefix + resource;
        checkMark(key, resource, COUNTER_MARK, "fencing counters");
        checkMark(key, resource, PERMIT_MARK, "permits");
        checkMark(key, resource, INTENTION_MARK, "intentions");
        return new LockKey(prefix, resource, key.getBytes(StandardCharsets.UTF_8),
                counterName(key).getBytes(StandardCharsets.UTF_8));
    }

    private static void checkMark(String key, String resource, String mark, String owners) {
        if (key.contains(mark)) {
            throw new IllegalArgumentException("resource \"" + SafeText.of(resource) + "\" contains \"" + mark
                    + "\" with its prefix, which only names of " + owners + " may: choose another name");
        }
    }

    /**
     * Encodes the keys of a set of resources. The order of the names does not matter.
     *
     * @param  prefix                   prefix of every key of the client
     * @param  resources                names of the resources
     * @param  lengthBytesMax           limit of a name with its prefix, bytes
     * @return                          the key; that of a single resource if there is one only
     * @throws IllegalArgumentException if there are none, too many, or two of one name, or if a name is no resource
     */
    public static LockKey ofAll(String prefix, Collection<String> resources, int lengthBytesMax) {
        if (resources == null) {
            throw new NullPointerException("resources are null: give the names of the resources to lock");
        }
        if (resources.isEmpty() || resources.size() > MEMBERS_MAX) {
            throw new IllegalArgumentException(resources.size() + " resources are out of range: a set has 1 to "
                    + MEMBERS_MAX + "; lock "
                    + (resources.isEmpty() ? "at least one" : "one name for several resources"));
        }
        List<LockKey> keys = new ArrayList<>();
        for (String resource : resources) {
            keys.add(of(prefix, resource, lengthBytesMax));
        }
        keys.sort(Comparator.comparing(LockKey::resource));
        for (int i = 1; i < keys.size(); i++) {
            if (keys.get(i).equals(keys.get(i - 1))) {
                throw new IllegalArgumentException("resource \"" + keys.get(i) + "\" is in the set twice: give each"
                        + " resource once");
            }
        }
        return keys.size() == 1 ? keys.get(0) : new LockKey(keys.toArray(LockKey[]::new));
    }

    /**
     * Overlapping sets must ask the same node first, and only one node for all sets does that: sets overlap in chains.
     * Resources with one hash tag cannot overlap those of another tag, so each tag has a node of its own.
     */
    private static int orderHashOf(LockKey[] members) {
        String tag = hashTagOf(members[0].prefix + members[0].resource);
        for (LockKey member : members) {
            if (tag == null || !tag.equals(hashTagOf(member.prefix + member.resource))) {
                return 0;
            }
        }
        return tag.hashCode();
    }

    /** The text between the first brace and the next closing one; null if there is none, or it is empty. */
    private static String hashTagOf(String key) {
        int start = key.indexOf('{');
        int end = start < 0 ? -1 : key.indexOf('}', start);
        return end <= start + 1 ? null : key.substring(start + 1, end);
    }

    /**
     * Returns the counter's key. It depends on the complete key of the lock alone, so clients with different prefixes
     * agree on it. It starts with the lock's key, so an ACL key pattern that allows the lock allows its counter. Its
     * hash tag keeps it in the lock's cluster slot: the tag of the lock's key, or the whole key. A key with a brace but
     * without a tag has no such counter.
     */
    public static String counterName(String key) {
        return hasBrace(key) ? key + COUNTER_MARK : key + COUNTER_MARK + ":{" + key + "}";
    }

    private static boolean hasBrace(String key) {
        return key.indexOf('{') >= 0 || key.indexOf('}') >= 0;
    }

    /** Rejects unpaired surrogates: the encoder replaces each by a question mark, so two names could share one key. */
    public static void checkEncodable(String what, String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (!Character.isSurrogate(c)) {
                continue;
            }
            if (Character.isLowSurrogate(c) || i + 1 == text.length()
                    || !Character.isLowSurrogate(text.charAt(i + 1))) {
                throw new IllegalArgumentException(what + " has an unpaired surrogate at index " + i
                        + ", which UTF-8 cannot encode: use complete characters");
            }
            i++;
        }
    }

    private static byte[] bulkOf(byte[] name) {
        byte[] head = ("$" + name.length + "\r\n").getBytes(StandardCharsets.US_ASCII);
        byte[] bulk = Arrays.copyOf(head, head.length + name.length + CRLF_BYTES);
        System.arraycopy(name, 0, bulk, head.length, name.length);
        bulk[bulk.length - 2] = '\r';
        bulk[bulk.length - 1] = '\n';
        return bulk;
    }

    /**
     * Rejects a key of a client with another prefix, which is the key of another lock.
     *
     * @param clientPrefix prefix of the client that uses the key
     * @throws IllegalArgumentException if the key has another prefix
     */
    public void checkPrefix(String clientPrefix) {
        if (!prefix.equals(clientPrefix)) {
            throw new IllegalArgumentException("resource key \"" + this + "\" was encoded with key prefix \""
                    + SafeText.of(prefix) + "\", but this client has key prefix \"" + SafeText.of(clientPrefix)
                    + "\": encode it with key() of this client");
        }
    }

    /** @return the name of the resource, without the prefix; those of a set in brackets */
    public String resource() {
        return resource;
    }

    /** @return the names of the resources, without the prefix */
    public List<String> resources() {
        return members == null ? List.of(resource) : Arrays.stream(members).map(LockKey::resource).toList();
    }

    LockKind kind() {
        return kind;
    }

    /**
     * Returns the key of another kind of lock of the resource.
     *
     * @param permitCount permits of the semaphore, if it is one
     */
    LockKey as(LockKind other, int permitCount) {
        return switch (other) {
            case PLAIN, SET -> this;
            case PERMIT -> asPermit(permitCount);
            case READ -> {
                reading = reading == null ? new LockKey(this, other) : reading;
                yield reading;
            }
            case WRITE -> {
                writing = writing == null ? new LockKey(this, other) : writing;
                yield writing;
            }
        };
    }

    private LockKey asPermit(int permitCount) {
        LockKey known = permit;
        if (known == null || known.slots.length != permitCount) {
            known = new LockKey(this, permitCount);
            permit = known;
        }
        return known;
    }

    /** Returns the number of slots of a semaphore. */
    int slotCount() {
        return slots.length;
    }

    /**
     * Returns a slot of a semaphore: the key of a plain lock. Its name does not contain the number of permits, so that
     * clients with different numbers share the slots. Its hash tag keeps all slots in the cluster slot of the
     * semaphore's name, as that of a counter does.
     */
    LockKey slotKey(int number) {
        LockKey known = slots[number];
        if (known == null) {
            String suffix = counterName(prefix + resource).substring(prefix.length() + resource.length())
                    .replace(COUNTER_MARK, PERMIT_MARK) + ":" + number;
            byte[] name = (prefix + resource + suffix).getBytes(StandardCharsets.UTF_8);
            known = new LockKey(prefix, resource + suffix, name, new byte[0], orderHash, number);
            slots[number] = known;
        }
        return known;
    }

    /** Returns the number of this slot in its semaphore. */
    int slotNumber() {
        return slotNumber;
    }

    /** Returns the number of a slot of a semaphore from its name, which ends with it. */
    static int slotNumberOf(ByteBuf name, int index, int length) {
        int number = 0;
        int unit = 1;
        for (int i = index + length - 1; name.getByte(i) != ':'; i--) {
            number += unit * (name.getByte(i) - '0');
            unit *= 10;
        }
        return number;
    }

    /** Whether a key is this one, or a slot of this semaphore. */
    boolean includes(LockKey other) {
        return equals(other) || kind == LockKind.PERMIT && other.slotNumber < slots.length
                && slotKey(other.slotNumber).equals(other);
    }

    /** Returns the key of the command that reads whether the lock is free: all slots of a semaphore. */
    LockKey searchKey() {
        if (kind != LockKind.PERMIT) {
            return this;
        }
        LockKey known = search;
        if (known == null) {
            known = new LockKey(IntStream.range(0, slots.length).mapToObj(this::slotKey).toArray(LockKey[]::new),
                    LockKind.PERMIT, orderHash, resource, null);
            search = known;
        }
        return known;
    }

    /** Returns the keys on which a waiting set leaves its intention, as a set. Each is in the slot of its resource. */
    LockKey intentionKey() {
        LockKey known = intention;
        if (known == null) {
            known = new LockKey(Arrays.stream(members).map(LockKey::intentionOf).toArray(LockKey[]::new), kind,
                    orderHash, resource, this);
            intention = known;
        }
        return known;
    }

    /** Returns the key of the lock that a change of this key concerns: of an intention, the set that has left it. */
    LockKey lock() {
        return intending == null ? this : intending;
    }

    private static LockKey intentionOf(LockKey member) {
        String name = member.resource + INTENTION_MARK;
        return new LockKey(member.prefix, name, (member.prefix + name).getBytes(StandardCharsets.UTF_8), new byte[0]);
    }

    /** Returns the length of the name of a resource in the name of a key: that of an intention has more. */
    static int resourceLengthOf(ByteBuf name, int index, int length) {
        int left = length - INTENTION_MARK.length();
        for (int i = INTENTION_MARK.length() - 1; i >= 0; i--) {
            if (left <= 0 || name.getByte(index + left + i) != INTENTION_MARK.charAt(i)) {
                return length;
            }
        }
        return left;
    }

    /** Returns the number of resources. */
    int memberCount() {
        return members == null ? 1 : members.length;
    }

    /** Returns the key of one of the resources. */
    LockKey member(int index) {
        return members == null ? this : members[index];
    }

    /** Returns a hash by which all clients order the nodes for the lock. */
    int orderHash() {
        return orderHash;
    }

    /** Returns the key as a complete bulk string, borrowed. */
    byte[] bulk() {
        return bulk;
    }

    /** Returns the counter's key as a complete bulk string, borrowed. */
    byte[] counterBulk() {
        return counterBulk;
    }

    /** Computed when it is first needed, because only clusters need it. Any thread may compute it again. */
    @Override
    public int slot() {
        if (members != null) {
            return members[0].slot();
        }
        int known = clusterSlot;
        if (known == 0) {
            known = KeySlot.of(bulk, bulk.length - CRLF_BYTES - nameLength, nameLength) + 1;
            clusterSlot = known;
        }
        return known - 1;
    }

    /**
     * Rejects keys in different slots, because no command of a cluster can use them together.
     *
     * @param isFenced whether the counters are used too
     * @throws IllegalArgumentException if they are
     */
    void checkSlots(boolean isFenced) {
        if (kind == LockKind.PERMIT) {
            checkPermitSlots();
            return;
        }
        for (int i = 0; i < memberCount(); i++) {
            if (member(i).slot() != slot()) {
                throw new IllegalArgumentException("resources " + this + " are in different slots of a cluster: \""
                        + member(0) + "\" in " + slot() + ", \"" + member(i) + "\" in " + member(i).slot()
                        + "; give all resources of a set one hash tag, such as {tag}");
            }
            if (isFenced) {
                member(i).checkCounterSlot();
            }
        }
    }

    private void checkPermitSlots() {
        String key = prefix + resource;
        if (hasBrace(key) && hashTagOf(key) == null) {
            throw new IllegalArgumentException("resource \"" + this + "\" has a brace but no hash tag, so its permits"
                    + " are in different slots of a cluster: remove the brace, or write a complete {tag}");
        }
    }

    private void checkCounterSlot() {
        if (slot() != KeySlot.ofBulk(counterBulk)) {
            throw new IllegalArgumentException("resource \"" + this + "\" has a brace but no hash tag, so its fencing"
                    + " counter is in another slot of a cluster: remove the brace, or write a complete {tag}");
        }
    }

    /** Whether the name of the key, with its prefix, has these bytes. */
    boolean hasName(ByteBuf name, int index, int length) {
        if (length != nameLength || kind != LockKind.PLAIN) {
            return false;
        }
        int nameStart = bulk.length - CRLF_BYTES - nameLength;
        for (int i = 0; i < length; i++) {
            if (name.getByte(index + i) != bulk[nameStart + i]) {
                return false;
            }
        }
        return true;
    }

    /** Returns the {@link #hashCode} of the key with this name. */
    static int hashOf(ByteBuf name, int index, int length) {
        int hash = 1;
        for (int i = 0; i < length; i++) {
            hash = 31 * hash + name.getByte(index + i);
        }
        return hash;
    }

    @Override
    public boolean equals(Object o) {
        return this == o
                || o instanceof LockKey other && hash == other.hash && kind == other.kind
                        && Arrays.equals(bulk, other.bulk);
    }

    @Override
    public int hashCode() {
        return hash;
    }

    /** Returns the resource for messages: escaped and truncated; {@link #resource} is the name itself. */
    @Override
    public String toString() {
        return SafeText.of(resource);
    }
}

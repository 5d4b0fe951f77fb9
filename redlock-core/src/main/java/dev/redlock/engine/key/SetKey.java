package dev.redlock.engine.key;

import dev.redlock.node.send.LockKind;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;

/**
 * The key of a set of resources: the plain keys of its resources, in the order of their names.
 *
 * @threading immutable
 */
public final class SetKey extends ResourcesKey {

    /** Resources of a set at most. The scripts pass twice as many keys to one command. */
    public static final int RESOURCES_MAX = 64;

    /** The keys of its reservation; null until they are needed. Any thread may make them again. */
    private SetKey reservation;
    /** The set whose reservation this is; null for another key. */
    private final SetKey reserving;

    private SetKey(LockKey[] resourceKeys) {
        this(ofAll(resourceKeys, Arrays.stream(resourceKeys).map(LockKey::resource).toList().toString(), true),
                orderHashOf(resourceKeys), null, resourceKeys);
    }

    private SetKey(KeyText text, int orderHash, SetKey reserving, LockKey[] resourceKeys) {
        super(text, LockKind.SET, Arrays.hashCode(text.bulk), orderHash, resourceKeys);
        this.reserving = reserving;
    }

    /**
     * Encodes the keys of a set of resources. The order of the names does not matter.
     *
     * @param  lengthBytesMax           limit of a name with its prefix, bytes
     * @return                          the key; that of a single resource if there is one only
     * @throws IllegalArgumentException if there are none, too many, or two of one name, or if a name is no resource
     */
    public static LockKey of(String prefix, Collection<String> resources, int lengthBytesMax) {
        if (resources == null) {
            throw new NullPointerException("resources are null: give the names of the resources to lock");
        }
        if (resources.isEmpty() || resources.size() > RESOURCES_MAX) {
            throw new IllegalArgumentException(resources.size() + " resources are out of range: a set has 1 to "
                    + RESOURCES_MAX + "; lock "
                    + (resources.isEmpty() ? "at least one" : "one name for several resources"));
        }
        List<LockKey> keys = new ArrayList<>();
        for (String resource : resources) {
            keys.add(new LockKey(KeyText.ofResource(prefix, resource, lengthBytesMax)));
        }
        keys.sort(Comparator.comparing(LockKey::resource));
        for (int i = 1; i < keys.size(); i++) {
            if (keys.get(i).equals(keys.get(i - 1))) {
                throw new IllegalArgumentException("resource \"" + keys.get(i) + "\" is in the set twice: give each"
                        + " resource once");
            }
        }
        return keys.size() == 1 ? keys.get(0) : new SetKey(keys.toArray(LockKey[]::new));
    }

    /**
     * Overlapping sets must ask the same node first, and only one node for all sets does that: sets overlap in chains.
     * Resources with one hash tag cannot overlap those of another tag, so each tag has a node of its own.
     */
    private static int orderHashOf(LockKey[] resourceKeys) {
        String tag = tagOf(resourceKeys[0]);
        for (LockKey key : resourceKeys) {
            if (tag == null || !tag.equals(tagOf(key))) {
                return 0;
            }
        }
        return tag.hashCode();
    }

    private static String tagOf(LockKey key) {
        return hashTagOf(key.prefix() + key.resource());
    }

    /**
     * Returns the keys on which a waiting set leaves its reservation, as a set. Each is in the slot of its resource.
     */
    public SetKey reservationKey() {
        SetKey known = reservation;
        if (known == null) {
            LockKey[] keys = new LockKey[resourceCount];
            for (int i = 0; i < keys.length; i++) {
                LockKey resource = resourceKey(i);
                keys[i] = new LockKey(
                        KeyText.of(resource.prefix(), resource.resource() + KeyText.RESERVATION_MARK, ""));
            }
            known = new SetKey(ofAll(keys, resource(), true), orderHash, this, keys);
            reservation = known;
        }
        return known;
    }

    @Override
    public LockKey markKey() {
        return reservationKey();
    }

    @Override
    public LockKey lock() {
        return reserving == null ? this : reserving;
    }
}

package dev.redlock.engine.key;

import dev.redlock.node.send.LockKind;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * The key of a semaphore. No command has its bulk string, which differs from those with another number of permits; the
 * commands have the keys of its permits.
 *
 * @threading immutable
 */
public final class PermitKey extends ResourcesKey {

    /** Permits of a semaphore at most. One command looks at all of them, and blocks its node meanwhile. */
    public static final int PERMITS_MAX = 256;

    /** Each null until it is needed. Any thread may make one. */
    private final Permit[] permits;
    /** The key of the command that looks at all permits; null until it is needed. */
    private LockKey search;

    /**
     * The key of a permit: that of a plain lock.
     *
     * @threading immutable
     */
    public static final class Permit extends LockKey {

        private final int number;

        private Permit(KeyText text, int orderHash, int number) {
            super(text, LockKind.PLAIN, text.hash(), orderHash, 1);
            this.number = number;
        }

        /** Returns the number of this permit in its semaphore. */
        public int number() {
            return number;
        }
    }

    public PermitKey(LockKey plain, int permitCount) {
        this(plain, withCount(plain.text, permitCount), permitCount);
    }

    private PermitKey(LockKey plain, KeyText text, int permitCount) {
        super(text, LockKind.PERMIT, Arrays.hashCode(text.bulk), plain.orderHash, plain);
        this.permits = new Permit[permitCount];
    }

    private static KeyText withCount(KeyText plain, int permitCount) {
        byte[] bulk = Arrays.copyOf(plain.bulk, plain.bulk.length + Integer.BYTES);
        ByteBuffer.wrap(bulk).putInt(plain.bulk.length, permitCount);
        return new KeyText(plain.prefix, plain.resource, bulk, null, plain.nameLength);
    }

    /** Returns the number of permits. */
    public int permitCount() {
        return permits.length;
    }

    /**
     * Returns a permit. Its name does not contain the number of permits, so that clients with different numbers share
     * the permits. Its hash tag keeps all permits in the cluster slot of the semaphore's name, as that of a counter
     * does.
     */
    public Permit permitKey(int number) {
        Permit known = permits[number];
        if (known == null) {
            String name = KeyText.permitName(prefix() + resource(), number);
            known = new Permit(KeyText.of(prefix(), name.substring(prefix().length()), ""), orderHash, number);
            permits[number] = known;
        }
        return known;
    }

    /** Returns the number of a permit of a semaphore from its name, which ends with it. */
    public static int permitNumberOf(ByteBuf name, int index, int length) {
        int number = 0;
        int unit = 1;
        for (int i = index + length - 1; name.getByte(i) != ':'; i--) {
            number += unit * (name.getByte(i) - '0');
            unit *= 10;
        }
        return number;
    }

    @Override
    public boolean includes(LockKey other) {
        return equals(other) || other instanceof Permit permit && permit.number < permits.length
                && permitKey(permit.number).equals(permit);
    }

    @Override
    public LockKey searchKey() {
        LockKey known = search;
        if (known == null) {
            LockKey[] all = IntStream.range(0, permits.length).mapToObj(this::permitKey).toArray(LockKey[]::new);
            KeyText text = ofAll(all, resource(), false);
            known = new ResourcesKey(text, LockKind.PERMIT, Arrays.hashCode(text.bulk), orderHash, all);
            search = known;
        }
        return known;
    }

    @Override
    public void checkSlots(boolean isFenced) {
        String key = prefix() + resource();
        if (KeyText.hasBrace(key) && hashTagOf(key) == null) {
            throw new IllegalArgumentException("resource \"" + this + "\" has a brace but no hash tag, so its permits"
                    + " are in different slots of a cluster: remove the brace, or write a complete {tag}");
        }
    }
}

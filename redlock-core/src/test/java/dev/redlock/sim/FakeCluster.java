package dev.redlock.sim;

import dev.redlock.node.send.KeySlot;
import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A model cluster over model servers: each server has its own view of the owners of slots, which may be out of date.
 * Keys are moved between servers by the test.
 */
public final class FakeCluster {

    private final List<Member> members = new ArrayList<>();
    private final Map<Integer, Migration> migrations = new HashMap<>();
    private boolean isDown;

    /** A slot on its way. */
    private record Migration(Member from, Member to) {
    }

    /** One server and its view. */
    public final class Member {
        private final FakeRedis redis;
        private final int port;
        private String host;
        private String id;
        private final Member[] owners = new Member[KeySlot.COUNT];
        private boolean isMaster = true;
        private long nodeTimeoutMs = 15_000;
        private int promotionCount;

        private Member(FakeRedis redis, String host, int port) {
            this.redis = redis;
            this.host = host;
            this.port = port;
            this.id = String.format("%040x", 0xabcd000 + host.hashCode() * 31L + port & 0xffffffffffL);
        }

        /** The reply to a command of the cluster; null for another command. */
        RespValue execute(List<String> words) {
            String command = String.join(" ", words).toUpperCase(Locale.ROOT);
            return switch (command) {
                case "CLUSTER SLOTS" -> slots();
                case "CLUSTER MYID" -> RespValue.bulk(id);
                case "CONFIG GET CLUSTER-NODE-TIMEOUT" -> RespValue.array(RespValue.bulk("cluster-node-timeout"),
                        RespValue.bulk(Long.toString(nodeTimeoutMs)));
                default -> null;
            };
        }

        private RespValue slots() {
            List<RespValue> ranges = new ArrayList<>();
            for (int slot = 0; slot < KeySlot.COUNT; slot++) {
                int first = slot;
                while (slot + 1 < KeySlot.COUNT && owners[slot + 1] == owners[first]) {
                    slot++;
                }
                if (owners[first] != null) {
                    ranges.add(RespValue.array(RespValue.integer(first), RespValue.integer(slot),
                            owners[first].entry()));
                }
            }
            return RespValue.array(ranges.toArray(RespValue[]::new));
        }

        /** What its map shows of it. */
        public RespValue entry() {
            return RespValue.array(RespValue.bulk(host), RespValue.integer(port), RespValue.bulk(id));
        }

        String replication() {
            return "master_replid:" + replicationId(promotionCount) + "\r\nmaster_replid2:"
                    + (promotionCount == 0 ? "0".repeat(40) : replicationId(promotionCount - 1)) + "\r\n";
        }

        private String replicationId(int generation) {
            return id.substring(2) + String.format("%02d", generation + 1);
        }

        String role() {
            return isMaster ? "master" : "slave";
        }

        /** The error with which the server rejects a command for these keys; null if it executes it. */
        String refusal(List<String> keys, boolean isAsking) {
            if (isDown) {
                return "CLUSTERDOWN The cluster is down";
            }
            int slot = slotOf(keys.get(0));
            for (String key : keys) {
                if (slotOf(key) != slot) {
                    return "CROSSSLOT Keys in request don't hash to the same slot";
                }
            }
            Migration migration = migrations.get(slot);
            long present = keys.stream().filter(key -> redis.get(key) != null).count();
            if (migration != null && migration.to == this && isAsking && owners[slot] != this) {
                return present < keys.size() && keys.size() > 1 && present > 0
                        ? "TRYAGAIN Multiple keys request"
                        : null;
            }
            if (owners[slot] == null) {
                return "CLUSTERDOWN Hash slot not served";
            }
            if (owners[slot] != this) {
                return "MOVED " + slot + " " + owners[slot].host + ":" + owners[slot].port;
            }
            if (migration != null && migration.from == this && present < keys.size()) {
                return present > 0
                        ? "TRYAGAIN Multiple keys request during rehashing of slot"
                        : "ASK " + slot + " " + migration.to.host + ":" + migration.to.port;
            }
            return null;
        }

        /** Owns a range of slots from now on, in the views of all servers; keys stay where they are. */
        public Member own(int first, int last) {
            members.forEach(member -> Arrays.fill(member.owners, first, last + 1, this));
            return this;
        }

        /** Whether it believes to be the owner of a slot. */
        public boolean owns(int slot) {
            return owners[slot] == this;
        }

        /** Is the process of another server that has restarted at this address, with its id and its slots. */
        public void takeIdentityOf(Member former) {
            id = former.id;
            for (Member member : members) {
                for (int slot = 0; slot < KeySlot.COUNT; slot++) {
                    member.owners[slot] = member.owners[slot] == former ? this : member.owners[slot];
                }
            }
        }

        /** Is another server from now on. */
        public void takeNewIdentity() {
            id = String.format("%040x", 0xbcde000 + host.hashCode() * 31L + port & 0xffffffffffL);
        }

        /** The servers of the cluster have another name for it. */
        public void announce(String newHost) {
            host = newHost;
        }

        /** Believes that another server owns a slot, and reports it to nobody. */
        public void believe(int slot, Member owner) {
            owners[slot] = owner;
        }

        /** Is a replica from now on. */
        public void demote() {
            isMaster = false;
        }

        /** Was a replica until now. */
        public void promote() {
            isMaster = true;
            promotionCount++;
        }

        public void nodeTimeoutMs(long newTimeoutMs) {
            nodeTimeoutMs = newTimeoutMs;
        }

        public FakeRedis redis() {
            return redis;
        }
    }

    public static int slotOf(String key) {
        byte[] bytes = key.getBytes(StandardCharsets.ISO_8859_1);
        return KeySlot.of(bytes, 0, bytes.length);
    }

    /** Adds a server that clients reach at a place. */
    public Member add(FakeRedis redis, String host, int port) {
        Member member = new Member(redis, host, port);
        members.forEach(other -> System.arraycopy(other.owners, 0, member.owners, 0, KeySlot.COUNT));
        members.add(member);
        redis.join(member);
        return member;
    }

    public void nodeTimeoutMs(long newTimeoutMs) {
        members.forEach(member -> member.nodeTimeoutMs(newTimeoutMs));
    }

    public void down(boolean newDown) {
        isDown = newDown;
    }

    /** Starts to move a slot: keys that the source does not have are asked for at the target. */
    public void startMigration(int slot, Member from, Member to) {
        migrations.put(slot, new Migration(from, to));
    }

    /** Moves the keys of a slot that is on its way. */
    public void moveKeys(int slot) {
        Migration migration = migrations.get(slot);
        for (String key : List.copyOf(migration.from.redis.allKeys())) {
            if (slotOf(key) == slot && migration.from.redis.get(key) != null) {
                migration.to.redis.set(key, migration.from.redis.get(key), migration.from.redis.pttl(key));
                migration.from.redis.delete(key);
            }
        }
    }

    /** All servers see the new owner. */
    public void endMigration(int slot) {
        migrations.remove(slot).to.own(slot, slot);
    }

    /** The slot stays where it is; keys that have moved are lost. */
    public void abortMigration(int slot) {
        migrations.remove(slot);
    }

    /** Moves a slot with its keys. */
    public void move(int slot, Member from, Member to) {
        startMigration(slot, from, to);
        moveKeys(slot);
        endMigration(slot);
    }

    /**
     * Promotes a replica. The deposed master believes that it is the owner until {@link #heal}.
     *
     * @param areKeysKept whether the replica has the keys of its master
     */
    public void failOver(Member master, Member replica, boolean areKeysKept) {
        if (areKeysKept) {
            for (String key : List.copyOf(master.redis.allKeys())) {
                if (master.redis.get(key) != null) {
                    replica.redis.set(key, master.redis.get(key), master.redis.pttl(key));
                }
            }
        }
        replica.promote();
        for (int slot = 0; slot < KeySlot.COUNT; slot++) {
            for (Member member : members) {
                if (member != master && member.owners[slot] == master) {
                    member.owners[slot] = replica;
                }
            }
        }
    }

    /** The deposed master notices, and becomes a replica without keys of its own. */
    public void heal(Member deposed, Member other) {
        System.arraycopy(other.owners, 0, deposed.owners, 0, KeySlot.COUNT);
        deposed.demote();
        deposed.redis.loseData();
    }

    /** The error of a command without a place in a cluster. */
    static RespValue noCluster() {
        return RespValue.text(RespType.SIMPLE_ERROR, "ERR This instance has cluster support disabled");
    }
}

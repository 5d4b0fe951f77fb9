package dev.redlock.node.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.node.send.KeySlot;
import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SlotMapTest {

    private static RespValue node(String host, long port, String id) {
        // Version 7 adds a list of details.
        return RespValue.array(RespValue.bulk(host), RespValue.integer(port), RespValue.bulk(id), RespValue.array());
    }

    private static RespValue range(long first, long last, RespValue... nodes) {
        List<RespValue> elements = new ArrayList<>(List.of(RespValue.integer(first), RespValue.integer(last)));
        elements.addAll(List.of(nodes));
        return RespValue.array(elements.toArray(RespValue[]::new));
    }

    @Test
    void readsMastersSlotsAndIds() {
        SlotMap map = SlotMap.parse(RespValue.array(
                range(0, 99, node("10.0.0.1", 7000, "a1"), node("10.0.0.9", 7009, "a9")),
                range(100, 16_382, node("10.0.0.2", 7001, "b2")),
                range(16_383, 16_383, node("10.0.0.1", 7000, "a1"))));
        assertEquals(List.of(new SlotMap.Master("a1", "10.0.0.1", 7000), new SlotMap.Master("b2", "10.0.0.2", 7001)),
                map.masters());
        assertEquals(Set.of("a1", "a9", "b2"), map.nodeIds());
        for (int slot = 0; slot < KeySlot.COUNT; slot++) {
            assertEquals(slot < 100 || slot == 16_383 ? 0 : 1, map.ownerOf(slot), "slot " + slot);
        }
    }

    @Test
    void leavesSlotsWithoutAMasterFree() {
        SlotMap map = SlotMap.parse(RespValue.array(range(7, 7, node("h", 1, "a"))));
        assertEquals(SlotMap.NONE, map.ownerOf(6));
        assertEquals(0, map.ownerOf(7));
        assertEquals(SlotMap.NONE, map.ownerOf(8));
        assertTrue(SlotMap.parse(RespValue.array()).masters().isEmpty(), "a server that has met no other");
    }

    @Test
    void takesAnEmptyHostForTheHostThatReplied() {
        RespValue nullHost = RespValue.array(RespValue.nullOf(RespType.BULK_STRING), RespValue.integer(1),
                RespValue.bulk("a"));
        assertEquals(null, SlotMap.parse(RespValue.array(range(0, 0, nullHost))).masters().get(0).host());
        assertEquals(null, SlotMap.parse(RespValue.array(range(0, 0, node("", 1, "a")))).masters().get(0).host());
    }

    static Stream<RespValue> malformed() {
        RespValue good = node("h", 1, "a");
        List<RespValue> tooMany = new ArrayList<>();
        for (int i = 0; i <= SlotMap.MASTERS_MAX; i++) {
            tooMany.add(range(i, i, node("h", i + 1, "a" + i)));
        }
        return Stream.of(RespValue.integer(1), RespValue.bulk("x"), RespValue.nullOf(RespType.ARRAY),
                RespValue.text(RespType.SIMPLE_ERROR, "ERR no cluster"), RespValue.array(RespValue.integer(1)),
                RespValue.array(range(0, 1)), RespValue.array(range(-1, 1, good)),
                RespValue.array(range(0, 16_384, good)), RespValue.array(range(2, 1, good)),
                RespValue.array(range(0, Long.MAX_VALUE, good)), RespValue.array(range(0, 1, RespValue.bulk("h:1"))),
                RespValue.array(range(0, 1, RespValue.array(RespValue.bulk("h"), RespValue.integer(1)))),
                RespValue.array(range(0, 1, node("h", 0, "a"))), RespValue.array(range(0, 1, node("h", 65_536, "a"))),
                RespValue.array(range(0, 1, node("?", 1, "a"))), RespValue.array(range(0, 1, node("a b", 1, "a"))),
                RespValue.array(range(0, 1, node("h".repeat(256), 1, "a"))),
                RespValue.array(range(0, 1, node("h", 1, ""))), RespValue.array(range(0, 1, node("h", 1, "a\n"))),
                RespValue.array(range(0, 1, node("h", 1, "a".repeat(65)))),
                RespValue.array(range(0, 1, good, RespValue.integer(1))),
                RespValue.array(range(0, 1, good), range(1, 2, good)),
                RespValue.array(range(0, 1, good), range(2, 2, node("h", 2, "a"))),
                RespValue.array(tooMany.toArray(RespValue[]::new)));
    }

    @ParameterizedTest
    @MethodSource("malformed")
    void rejectsOtherReplies(RespValue reply) {
        assertThrows(IllegalArgumentException.class, () -> SlotMap.parse(reply));
    }

    /** Each part of a good reply replaced by each kind of value: a map or an error, nothing else. */
    @Test
    void survivesRandomReplies() {
        SplittableRandom random = new SplittableRandom(7);
        for (int i = 0; i < 20_000; i++) {
            try {
                SlotMap.parse(randomValue(random, 4));
            } catch (IllegalArgumentException e) {
                assertFalse(e.getMessage().isEmpty());
            }
        }
    }

    private static RespValue randomValue(SplittableRandom random, int depth) {
        switch (depth == 0 ? random.nextInt(4) : random.nextInt(10)) {
            case 0 -> {
                return RespValue.integer(random.nextLong(-2, 20_000));
            }
            case 1 -> {
                return RespValue.bulk(random.nextBoolean() ? "a" : "");
            }
            case 2 -> {
                return RespValue.nullOf(RespType.NULL);
            }
            case 3 -> {
                return RespValue.text(RespType.SIMPLE_ERROR, "ERR");
            }
            default -> {
                RespValue[] elements = new RespValue[random.nextInt(5)];
                for (int i = 0; i < elements.length; i++) {
                    elements[i] = i < 2 && random.nextInt(3) > 0
                            ? RespValue.integer(random.nextLong(0, 16_384))
                            : randomValue(random, depth - 1);
                }
                return RespValue.array(elements);
            }
        }
    }
}

package dev.redlock.resp.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.resp.EventLog;
import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespProtocolException;
import dev.redlock.resp.RespVisitor;
import dev.redlock.resp.Wire;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RespInboundHandlerTest {
    private final EventLog log = new EventLog();
    private final List<String> calls = new ArrayList<>();
    private final RespInboundHandler handler = new RespInboundHandler(log, RespLimits.defaults(), new TestOwner());

    private class TestOwner implements RespInboundHandler.Owner {
        @Override
        public void onReadStart() {
            calls.add("start");
        }

        @Override
        public void onProtocolError(RespProtocolException e) {
            calls.add(e.getMessage());
        }
    }

    private EmbeddedChannel channel() {
        return new EmbeddedChannel(handler);
    }

    private static void read(EmbeddedChannel channel, String wire) {
        channel.writeInbound(channel.alloc().buffer().writeBytes(Wire.bytes(wire)));
    }

    @Test
    void readsValuesAcrossReadsOfEverySize() {
        String wire = ":1\r\n$5\r\nhello\r\n" + ":22\r\n".repeat(40) + "$300\r\n" + "x".repeat(300) + "\r\n:3\r\n";
        List<String> whole = Wire.events(wire);
        for (int size = 1; size < wire.length(); size++) {
            EventLog log = new EventLog();
            EmbeddedChannel channel = new EmbeddedChannel(
                    new RespInboundHandler(log, RespLimits.defaults(), new TestOwner()));
            for (int from = 0; from < wire.length(); from += size) {
                read(channel, wire.substring(from, Math.min(wire.length(), from + size)));
            }
            assertEquals(whole, log.events(), "reads of " + size);
            assertFalse(channel.finish());
        }
    }

    @Test
    void closesOnFirstErrorAndDropsTheRest() {
        EmbeddedChannel channel = channel();
        read(channel, ":1\r\n?\r\n:2\r\n");
        assertFalse(channel.isOpen());
        assertEquals(List.of("integer 1", "reply end"), log.events());
        assertEquals("a value starts with one of + - : $ * _ # , ( ! = % | ~ >; saw 0x3f '?' in VALUE at offset 4",
                calls.get(1));
        assertFalse(channel.finish());
    }

    @Test
    void notifiesOwnerOfReads() {
        EmbeddedChannel channel = channel();
        read(channel, ":1\r\n:2");
        assertEquals(List.of("start"), calls);
        assertFalse(handler.isBetweenReplies());
        read(channel, "\r\n");
        assertTrue(handler.isBetweenReplies());
        assertFalse(channel.finish());
    }

    @Test
    void deliversTheReadAfterTheVisitorClosesTheChannel() {
        EmbeddedChannel channel = new EmbeddedChannel();
        List<Long> seen = new ArrayList<>();
        channel.pipeline().addLast(new RespInboundHandler(new Numbers(seen) {
            @Override
            public void onReplyEnd() {
                channel.close();
            }
        }, RespLimits.defaults(), new TestOwner()));
        ByteBuf in = channel.alloc().buffer().writeBytes(Wire.bytes(":1\r\n:2\r\n$999"));
        channel.writeInbound(in);
        assertEquals(List.of(1L, 2L), seen);
        assertEquals(0, in.refCnt());
        assertFalse(channel.finish());
    }

    @Test
    void closesIfTheVisitorThrows() {
        List<RuntimeException> errors = new ArrayList<>();
        IllegalArgumentException thrown = new IllegalArgumentException("unexpected");
        EmbeddedChannel channel = new EmbeddedChannel(new RespInboundHandler(new Numbers(new ArrayList<>()) {
            @Override
            public void onReplyEnd() {
                throw thrown;
            }
        }, RespLimits.defaults(), new TestOwner() {
            @Override
            public void onVisitorError(RuntimeException e) {
                errors.add(e);
            }
        }));
        read(channel, ":1\r\n:2\r\n$9");
        assertFalse(channel.isOpen());
        assertEquals(List.of(thrown), errors);
        assertFalse(channel.finish());
    }

    /** The unfinished end of the read is lost, so the next bytes would be parsed out of context. */
    @Test
    void closesIfTheUnfinishedEndCannotBeStored() {
        EmbeddedChannel channel = channel();
        channel.config().setAllocator(new PooledByteBufAllocator() {
            @Override
            protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
                throw new OutOfMemoryError("no memory, thrown by a test");
            }

            @Override
            protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
                throw new OutOfMemoryError("no memory, thrown by a test");
            }
        });
        boolean isThrown = false;
        try {
            channel.writeInbound(Unpooled.wrappedBuffer(Wire.bytes(":1\r\n$9\r\nabc")));
        } catch (OutOfMemoryError e) {
            // JUnit rethrows an OutOfMemoryError, so assertThrows cannot expect it.
            isThrown = true;
        }
        assertTrue(isThrown);
        assertFalse(channel.isOpen());
        assertEquals(List.of("integer 1", "reply end"), log.events());
        assertFalse(channel.finish());
    }

    @Test
    void passesOtherMessagesToTheNextHandler() {
        EmbeddedChannel channel = channel();
        assertTrue(channel.writeInbound("event"));
        assertEquals("event", channel.readInbound());
        assertFalse(channel.finish());
    }

    @Test
    void readsAndReleasesLargeBodies() {
        String wire = "$200000\r\n" + "x".repeat(200_000) + "\r\n:5\r\n";
        EmbeddedChannel channel = channel();
        for (int from = 0; from < wire.length(); from += 1000) {
            read(channel, wire.substring(from, Math.min(wire.length(), from + 1000)));
        }
        assertEquals(Wire.events(wire), log.events());
        assertFalse(channel.finish());
    }

    @Test
    void releasesTheUnfinishedEndOnRemoval() {
        EmbeddedChannel channel = channel();
        read(channel, ":1\r\n$9\r\nabc");
        channel.pipeline().remove(handler);
        assertFalse(channel.finish());
    }

    private static class Numbers implements RespVisitor {
        private final List<Long> seen;

        Numbers(List<Long> seen) {
            this.seen = seen;
        }

        @Override
        public void onInteger(long value) {
            seen.add(value);
        }

        @Override
        public void onSimpleError(ByteBuf buf, int index, int length) {
        }

        @Override
        public void onReplyEnd() {
        }
    }
}

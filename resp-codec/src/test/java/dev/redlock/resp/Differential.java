package dev.redlock.resp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.resp.netty.RespInboundHandler;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/** Compares parser and handler with the oracle, for any input and any way to cut it. */
public final class Differential {
    /** Small, so that short inputs reach every limit. */
    public static final RespLimits TIGHT = RespLimits.defaults()
            .lineLengthMax(32)
            .bulkLengthMax(100)
            .elementCountMax(40)
            .depthMax(5);

    private Differential() {
    }

    /** One input, cut where the random generator says. */
    public static void check(byte[] input, RespLimits limits, RandomGenerator cuts) {
        PlainReader.Outcome expected = PlainReader.read(input, limits);
        assertEquals(expected, parsed(input, limits, input.length + 1, false, cuts), "in one go");
        assertEquals(expected, parsed(input, limits, 1, false, cuts), "byte by byte");
        assertEquals(expected, parsed(input, limits, 7, true, cuts), "cut small, bodies in pieces");
        assertEquals(expected, handled(input, limits, cuts), "through the handler");
        ByteBuf out = Unpooled.buffer();
        expected.values().forEach(value -> value.writeTo(out));
        assertEquals(expected.values(), RespValueReader.readAll(out, RespLimits.defaults()), "written and read again");
    }

    /** On the request side, what the oracle reads as arrays of bulk strings is accepted and the rest is refused. */
    public static void checkRequests(byte[] input, RandomGenerator cuts) {
        List<RespValue> values = new ArrayList<>();
        RespParser parser = RespParser.forRequests(RespLimits.defaults());
        RespVisitor reader = new RespValueReader(values::add, 0);
        ByteBuf in = Unpooled.buffer();
        try {
            for (int from = 0; from < input.length;) {
                int length = Math.min(cuts.nextInt(1, 9), input.length - from);
                in.discardReadBytes().writeBytes(input, from, length);
                parser.parse(in, reader);
                from += length;
            }
        } catch (RespProtocolException e) {
            assertTrue(parser.hasFailed());
        }
        List<RespValue> replies = PlainReader.read(input, RespLimits.defaults()).values();
        long requests = replies.stream().takeWhile(Differential::isRequest).count();
        assertEquals(replies.subList(0, (int) requests), values);
    }

    private static boolean isRequest(RespValue value) {
        return value.type() == RespType.ARRAY && !value.isNull() && value.attribute() == null
                && value.elements()
                        .stream()
                        .allMatch(word -> word.type() == RespType.BULK_STRING && !word.isNull()
                                && word.attribute() == null);
    }

    private static PlainReader.Outcome parsed(byte[] input, RespLimits limits, int cutMax, boolean isInPieces,
            RandomGenerator cuts) {
        List<RespValue> values = new ArrayList<>();
        RespParser parser = RespParser.forReplies(limits);
        RespVisitor reader = new RespValueReader(values::add, isInPieces ? 0 : Integer.MAX_VALUE);
        ByteBuf in = Unpooled.buffer();
        try {
            for (int from = 0; from < input.length;) {
                int length = cutMax > input.length
                        ? input.length
                        : Math.min(cuts.nextInt(1, cutMax + 1), input.length - from);
                in.discardReadBytes().writeBytes(input, from, length);
                parser.parse(in, reader);
                from += length;
            }
            return new PlainReader.Outcome(values, false);
        } catch (RespProtocolException e) {
            return new PlainReader.Outcome(values, true);
        }
    }

    /** Through a handler on a channel, in random reads; every read must be released at the end. */
    public static PlainReader.Outcome handled(byte[] input, RespLimits limits, RandomGenerator cuts) {
        List<RespValue> values = new ArrayList<>();
        List<RespProtocolException> errors = new ArrayList<>();
        EmbeddedChannel channel = new EmbeddedChannel(
                new RespInboundHandler(new RespValueReader(values::add), limits, errors::add));
        List<ByteBuf> reads = new ArrayList<>();
        for (int from = 0; from < input.length && channel.isOpen();) {
            int length = Math.min(cuts.nextInt(1, cuts.nextInt(2, 200)), input.length - from);
            ByteBuf read = channel.alloc().buffer(length).writeBytes(input, from, length);
            reads.add(read);
            channel.writeInbound(read);
            from += length;
        }
        assertFalse(channel.finish());
        reads.forEach(read -> assertEquals(0, read.refCnt()));
        return new PlainReader.Outcome(values, !errors.isEmpty());
    }
}

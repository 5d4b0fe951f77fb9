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

/** Compares the parser and the handler with the oracle, for any input and any split of it. */
public final class OracleComparison {
    /** Limits that short inputs reach. */
    public static final RespLimits TIGHT = RespLimits.defaults()
            .lineLengthMax(32)
            .bulkLengthMax(100)
            .elementCountMax(40)
            .depthMax(5);

    private OracleComparison() {
    }

    /** Compares the values of one input, split at random. */
    public static void check(byte[] input, RespLimits limits, RandomGenerator splits) {
        OracleReader.Outcome expected = OracleReader.read(input, limits);
        assertEquals(expected, parsed(input, limits, input.length + 1, false, splits), "whole");
        assertEquals(expected, parsed(input, limits, 1, false, splits), "byte by byte");
        assertEquals(expected, parsed(input, limits, 7, true, splits), "in reads of 1 to 7 bytes, bodies in pieces");
        assertEquals(expected, handled(input, limits, splits), "through the handler");
        ByteBuf out = Unpooled.buffer();
        expected.values().forEach(value -> value.writeTo(out));
        assertEquals(expected.values(), RespValueReader.readAll(out, RespLimits.defaults()), "written and read again");
    }

    /** The request parser accepts the values up to the first one that is no array of bulk strings for the oracle. */
    public static void checkRequests(byte[] input, RandomGenerator splits) {
        List<RespValue> values = new ArrayList<>();
        RespParser parser = RespParser.forRequests(RespLimits.defaults());
        RespVisitor reader = new RespValueReader(values::add, 0);
        ByteBuf in = Unpooled.buffer();
        try {
            for (int from = 0; from < input.length;) {
                int length = Math.min(splits.nextInt(1, 9), input.length - from);
                in.discardReadBytes().writeBytes(input, from, length);
                parser.parse(in, reader);
                from += length;
            }
        } catch (RespProtocolException e) {
            assertTrue(parser.hasFailed());
        }
        List<RespValue> replies = OracleReader.read(input, RespLimits.defaults()).values();
        long requests = replies.stream().takeWhile(OracleComparison::isRequest).count();
        assertEquals(replies.subList(0, (int) requests), values);
    }

    private static boolean isRequest(RespValue value) {
        return value.type() == RespType.ARRAY && !value.isNull() && value.attribute() == null
                && value.elements()
                        .stream()
                        .allMatch(word -> word.type() == RespType.BULK_STRING && !word.isNull()
                                && word.attribute() == null);
    }

    private static OracleReader.Outcome parsed(byte[] input, RespLimits limits, int readBytesMax, boolean isInPieces,
            RandomGenerator splits) {
        List<RespValue> values = new ArrayList<>();
        RespParser parser = RespParser.forReplies(limits);
        RespVisitor reader = new RespValueReader(values::add, isInPieces ? 0 : Integer.MAX_VALUE);
        ByteBuf in = Unpooled.buffer();
        try {
            for (int from = 0; from < input.length;) {
                int length = readBytesMax > input.length
                        ? input.length
                        : Math.min(splits.nextInt(1, readBytesMax + 1), input.length - from);
                in.discardReadBytes().writeBytes(input, from, length);
                parser.parse(in, reader);
                from += length;
            }
            return new OracleReader.Outcome(values, false);
        } catch (RespProtocolException e) {
            return new OracleReader.Outcome(values, true);
        }
    }

    /** Parses an input through a handler, in random reads. Fails if a read is not released. */
    public static OracleReader.Outcome handled(byte[] input, RespLimits limits, RandomGenerator splits) {
        List<RespValue> values = new ArrayList<>();
        List<RespProtocolException> errors = new ArrayList<>();
        EmbeddedChannel channel = new EmbeddedChannel(
                new RespInboundHandler(new RespValueReader(values::add), limits, errors::add));
        List<ByteBuf> reads = new ArrayList<>();
        for (int from = 0; from < input.length && channel.isOpen();) {
            int length = Math.min(splits.nextInt(1, splits.nextInt(2, 200)), input.length - from);
            ByteBuf read = channel.alloc().buffer(length).writeBytes(input, from, length);
            reads.add(read);
            channel.writeInbound(read);
            from += length;
        }
        assertFalse(channel.finish());
        reads.forEach(read -> assertEquals(0, read.refCnt()));
        return new OracleReader.Outcome(values, !errors.isEmpty());
    }
}

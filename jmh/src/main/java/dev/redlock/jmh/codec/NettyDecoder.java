package dev.redlock.jmh.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.redis.FixedRedisMessagePool;
import io.netty.handler.codec.redis.RedisDecoder;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.List;

/**
 * Netty's decoder without a pipeline, for a fair comparison. Its decode method is protected and its class final; a
 * constant method handle has no cost once compiled.
 *
 * @threading caller-confined
 */
final class NettyDecoder {
    private static final MethodHandle DECODE = decode();

    private final RedisDecoder decoder = new RedisDecoder(64 * 1024, FixedRedisMessagePool.INSTANCE);
    private final List<Object> messages = new ArrayList<>();

    private static MethodHandle decode() {
        try {
            MethodType type = MethodType.methodType(void.class, ChannelHandlerContext.class, ByteBuf.class, List.class);
            return MethodHandles.privateLookupIn(RedisDecoder.class, MethodHandles.lookup())
                    .findVirtual(RedisDecoder.class, "decode", type);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Decodes all readable bytes; the caller releases the messages. */
    List<Object> decode(ByteBuf in) {
        messages.clear();
        try {
            DECODE.invokeExact(decoder, (ChannelHandlerContext) null, in, messages);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
        return messages;
    }
}

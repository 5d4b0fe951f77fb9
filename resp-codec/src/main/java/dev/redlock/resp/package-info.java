/**
 * RESP2 and RESP3 on Netty buffers, without a network. {@link dev.redlock.resp.RespParser} calls a
 * {@link dev.redlock.resp.RespVisitor}, {@link dev.redlock.resp.RespWriter} writes commands, and
 * {@link dev.redlock.resp.RespLimits} bounds the input that the parser accepts.
 */
package dev.redlock.resp;

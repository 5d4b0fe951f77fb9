/**
 * RESP2 and RESP3 without a network: {@link dev.redlock.resp.RespParser} calls a {@link dev.redlock.resp.RespVisitor},
 * {@link dev.redlock.resp.RespWriter} writes commands, {@link dev.redlock.resp.RespLimits} bounds what a peer may send.
 */
package dev.redlock.resp;

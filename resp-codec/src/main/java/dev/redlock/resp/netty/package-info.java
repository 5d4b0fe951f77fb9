/**
 * RESP on Netty channels: {@link dev.redlock.resp.netty.RespInboundHandler} feeds the parser, and
 * {@link dev.redlock.resp.netty.RespClient} sends commands and completes futures with their replies.
 */
package dev.redlock.resp.netty;

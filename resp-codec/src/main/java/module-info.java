/** A strict, allocation-free RESP2 and RESP3 codec over Netty buffers. */
module dev.redlock.resp {
    requires transitive io.netty.buffer;
    requires io.netty.common;
    requires transitive io.netty.transport;

    exports dev.redlock.resp;
    exports dev.redlock.resp.netty;
}

/** Distributed locks over N independent Redis or Valkey masters. */
@SuppressWarnings({ "requires-automatic", "module" })
module dev.redlock {
    requires transitive dev.redlock.resp;
    requires transitive io.netty.transport;
    requires io.netty.buffer;
    requires io.netty.common;
    requires io.netty.transport.classes.epoll;
    requires io.netty.transport.classes.io_uring;
    requires io.netty.transport.classes.kqueue;
    requires io.netty.transport.unix.common;
    requires org.agrona;

    exports dev.redlock;
}

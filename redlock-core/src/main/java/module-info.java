/** Distributed locks over N independent Redis or Valkey masters. */
// Netty chose names that end with digits.
@SuppressWarnings("module")
module dev.redlock {
    requires transitive dev.redlock.resp;
    requires transitive io.netty.transport;
    requires io.netty.buffer;
    requires io.netty.common;
    requires io.netty.handler;
    requires io.netty.transport.classes.epoll;
    requires io.netty.transport.classes.io_uring;
    requires io.netty.transport.classes.kqueue;
    requires io.netty.transport.unix.common;
    // For the events of JFR; an image without this module works without them.
    requires static jdk.jfr;
    // No class refers to these modules, but without them no application on the module path loads a native library.
    requires io.netty.transport.epoll.linux.aarch_64;
    requires io.netty.transport.epoll.linux.x86_64;
    requires io.netty.transport.kqueue.osx.aarch_64;
    requires io.netty.transport.kqueue.osx.x86_64;

    exports dev.redlock;
    exports dev.redlock.api;
}

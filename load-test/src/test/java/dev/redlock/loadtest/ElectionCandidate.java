package dev.redlock.loadtest;

import dev.redlock.AcquireOptions;
import dev.redlock.Election;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.RestartGuardMode;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A process that takes part in an election. A leader writes its fencing token to a register without a pause, which
 * rejects lower ones. Standard output has the start and the end of each term.
 */
final class ElectionCandidate {

    private static final String WRITE = "local last = tonumber(redis.call('GET', 'last') or '0') "
            + "if tonumber(ARGV[1]) < last then return redis.call('INCR', 'rejected') end "
            + "redis.call('SET', 'last', ARGV[1]) return redis.call('SADD', 'tokens', ARGV[1])";

    private ElectionCandidate() {
    }

    /** The port of the register, then the addresses of the nodes. */
    public static void main(String[] args) throws Exception {
        Redlock redlock = Redlock.connect(new RedlockContext().nodes(Arrays.copyOfRange(args, 1, args.length))
                .restartGuard(RestartGuardMode.OFF));
        Runtime.getRuntime().addShutdownHook(new Thread(redlock::close));
        AtomicReference<Election.Term> present = new AtomicReference<>();
        redlock.elect("leader", AcquireOptions.ofTtl(Duration.ofSeconds(1)), term -> {
            System.out.println("LEADS " + term.fencingToken());
            term.ended().thenAccept(how -> System.out.println("ENDED " + term.fencingToken() + " " + how));
            present.set(term);
        });
        try (Socket register = new Socket("127.0.0.1", Integer.parseInt(args[0]))) {
            while (true) {
                Election.Term term = present.get();
                if (term != null && term.isHeld()) {
                    write(register, Long.toString(term.fencingToken()));
                }
                new CountDownLatch(1).await(1, TimeUnit.MILLISECONDS);
            }
        }
    }

    private static void write(Socket register, String token) throws Exception {
        StringBuilder command = new StringBuilder("*4\r\n");
        for (String word : new String[]{"EVAL", WRITE, "0", token}) {
            command.append('$').append(word.length()).append("\r\n").append(word).append("\r\n");
        }
        OutputStream out = register.getOutputStream();
        out.write(command.toString().getBytes(StandardCharsets.US_ASCII));
        InputStream in = register.getInputStream();
        int first = in.read();
        if (first != ':') {
            throw new IllegalStateException("the register replied " + (char) first);
        }
        while (in.read() != '\n') {
            // The rest of the number.
        }
    }
}

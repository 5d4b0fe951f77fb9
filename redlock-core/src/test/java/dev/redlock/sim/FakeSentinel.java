package dev.redlock.sim;

import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** A Sentinel on the place of a fake node. It names a server, and pushes its changes. Confined to the nodes' loop. */
public final class FakeSentinel implements FakeNode.Hostility {

    public static final String NAME = "mymaster";

    private final Set<FakeNode.Wire> subscribers = new LinkedHashSet<>();
    private final Set<FakeNode.Wire> authenticated = new LinkedHashSet<>();
    private final List<String> log = new ArrayList<>();
    private String host;
    private int port = 1;
    private String password;
    private String answer;
    private String subscribeAnswer;

    /** Replaces a node. */
    public static FakeSentinel at(FakeNode node, String host) {
        FakeSentinel sentinel = new FakeSentinel();
        sentinel.host = host;
        node.hostility(sentinel);
        return sentinel;
    }

    /** Names another server, without a push. */
    public void names(String newHost) {
        host = newHost;
    }

    public void names(String newHost, int newPort) {
        host = newHost;
        port = newPort;
    }

    /** Names another server, and tells the subscribers. */
    public void switchTo(String newHost) {
        String payload = NAME + " " + host + " 1 " + newHost + " 1";
        host = newHost;
        push(payload);
    }

    /** Sends a message to the subscribers. */
    public void push(String payload) {
        String message = "*3\r\n" + bulk("message") + bulk("+switch-master") + bulk(payload);
        List.copyOf(subscribers).forEach(wire -> wire.send(message));
    }

    public void password(String newPassword) {
        password = newPassword;
    }

    /** Answers each question with these bytes; null for the address. */
    public void answer(String bytes) {
        answer = bytes;
    }

    public void subscribeAnswer(String bytes) {
        subscribeAnswer = bytes;
    }

    /** The commands so far, without arguments. */
    public List<String> log() {
        return log;
    }

    public long count(String command) {
        return log.stream().filter(command::equals).count();
    }

    @Override
    public void onRequest(FakeNode.Wire wire, List<String> words, ByteBuf honest) {
        honest.release();
        String command = words.get(0);
        log.add(command);
        if (command.equals("AUTH")) {
            boolean isRight = words.get(words.size() - 1).equals(password);
            if (isRight) {
                authenticated.add(wire);
            }
            wire.send(isRight
                    ? "+OK\r\n"
                    : password == null
                            ? "-ERR AUTH <password> called without any password configured for the default user\r\n"
                            : "-WRONGPASS invalid username-password pair\r\n");
        } else if (password != null && !authenticated.contains(wire)) {
            wire.send("-NOAUTH Authentication required.\r\n");
        } else {
            wire.send(reply(wire, words));
        }
    }

    private String reply(FakeNode.Wire wire, List<String> words) {
        boolean isSubscribed = subscribers.contains(wire);
        switch (words.get(0)) {
            case "SENTINEL" :
                if (isSubscribed) {
                    return "-ERR Can't execute 'sentinel|get-master-addr-by-name': only (P|S)SUBSCRIBE\r\n";
                }
                if (answer != null) {
                    return answer;
                }
                boolean isKnown = words.equals(List.of("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)) && host != null;
                return isKnown ? "*2\r\n" + bulk(host) + bulk(Integer.toString(port)) : "*-1\r\n";
            case "SUBSCRIBE" :
                if (subscribeAnswer != null) {
                    return subscribeAnswer;
                }
                subscribers.add(wire);
                return "*3\r\n" + bulk("subscribe") + bulk(words.get(1)) + ":1\r\n";
            case "UNSUBSCRIBE" :
                subscribers.remove(wire);
                return "*3\r\n" + bulk("unsubscribe") + bulk(words.get(1)) + ":0\r\n";
            default :
                return "-ERR unknown command\r\n";
        }
    }

    private static String bulk(String text) {
        return "$" + text.length() + "\r\n" + text + "\r\n";
    }
}

package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespParser;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which pushes the client acts on, and the weight of all others. */
class PushReaderTest implements PushReader.Listener {

    private static final WaiterName NAME = new WaiterName(new byte[WaiterName.LENGTH]);
    private static final String CHANNEL = NAME.channel();

    private final List<String> events = new ArrayList<>();
    private final PushReader reader = new PushReader(this, NAME);

    @Override
    public void onInvalidated(ByteBuf key, int index, int length) {
        events.add("invalidated " + text(key, index, length));
    }

    @Override
    public void onKeysFlushed() {
        events.add("flushed");
    }

    @Override
    public void onMessage(byte word, ByteBuf key, int index, int length) {
        events.add((char) word + " " + text(key, index, length));
    }

    @Override
    public boolean onOtherPush(int weight) {
        events.add("other " + weight);
        return true;
    }

    private static String text(ByteBuf buf, int index, int length) {
        return buf.toString(index, length, StandardCharsets.ISO_8859_1);
    }

    /** A push with strings as elements, but for numbers with a colon. */
    private static String push(String... elements) {
        StringBuilder out = new StringBuilder(">" + elements.length + "\r\n");
        for (String each : elements) {
            out.append(each.startsWith(":") ? each + "\r\n" : "$" + each.length() + "\r\n" + each + "\r\n");
        }
        return out.toString();
    }

    private List<String> read(String bytes) {
        events.clear();
        RespParser.forReplies(RespLimits.defaults())
                .parse(Unpooled.copiedBuffer(bytes, StandardCharsets.ISO_8859_1), reader);
        return events;
    }

    @ParameterizedTest
    @ValueSource(strings = {"h", "d", "H", "D"})
    void aMessageHasAWordAndTheKeyOfALock(String word) {
        assertEquals(List.of(word + " lock:{a}"), read(push("message", CHANNEL, word + "lock:{a}")));
        assertEquals(List.of(word + " k"), read(push("message", CHANNEL, word + "k")), "a key of one byte");
    }

    @Test
    void otherMessagesAreCounted() {
        List<String> others = List.of(push("message", CHANNEL, ""), push("message", CHANNEL, "h"),
                push("message", CHANNEL, "xkey"), push("message", CHANNEL + "A", "hkey"),
                push("message", "redlock:wake:", "hkey"), push("message", CHANNEL, ":1"), push("message", ":1", "hkey"),
                push("pmessage", CHANNEL, "hkey"));
        for (String other : others) {
            assertEquals(List.of("other 2"), read(other), other);
        }
        assertEquals(List.of("other 1"), read(push("message", CHANNEL)));
        assertEquals(List.of("other 3"), read(push("message", CHANNEL, "hkey", "more")));
        assertEquals(List.of("other 3"), read(push("pmessage", "redlock:*", CHANNEL, "hkey")));
    }

    @Test
    void aLongPayloadWeighsMore() {
        assertEquals(List.of("h " + "k".repeat(65_535), "other 4"),
                read(push("message", CHANNEL, "h" + "k".repeat(65_535))));
        assertEquals(List.of("other 6"), read(push("message", CHANNEL, "x".repeat(65_536))));
    }

    @Test
    void onePushDoesNotChangeTheNext() {
        String message = push("message", CHANNEL, "hk");
        String invalidation = ">2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n";
        assertEquals(List.of("h k", "invalidated a", "invalidated b", "other 1", "h k"),
                read(message + invalidation + push("message") + message));
        assertEquals(List.of("other 2", "other 1", "h k"), read(push("message", CHANNEL, "") + push("hk") + message));
        assertEquals(List.of("flushed", "h k"), read(">2\r\n$10\r\ninvalidate\r\n_\r\n" + message));
    }

    /** The reader of replies asks before the end of the push. */
    @Test
    void aSubscriptionThatNoRequestWaitsForIsCounted() {
        assertEquals(List.of("other 2"), read(push("subscribe", CHANNEL, ":1")));
        assertFalse(reader.isSubscription());
    }

    @Test
    void aNameIsOfItsBytes() {
        byte[] bytes = new byte[WaiterName.LENGTH];
        Arrays.fill(bytes, (byte) 0xff);
        WaiterName name = new WaiterName(bytes);
        assertEquals("_____________________w", name.text());
        assertEquals("$22\r\n_____________________w\r\n", new String(name.bulk(), StandardCharsets.US_ASCII));
        assertEquals("redlock:wake:_____________________w", name.channel());
        assertTrue(NAME.text().matches("A{22}"));
    }
}

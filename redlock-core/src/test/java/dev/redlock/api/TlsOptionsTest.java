package dev.redlock.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.TlsOptions;
import java.nio.file.Path;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class TlsOptionsTest {

    private static final Path FILE = Path.of("a.pem");

    /** A supplier whose text is the secret. */
    private static final Supplier<char[]> SECRET = new Supplier<>() {
        @Override
        public char[] get() {
            throw new AssertionError("no password is needed before the first connection");
        }

        @Override
        public String toString() {
            return "secret";
        }
    };

    private static void assertInvalid(String message, Executable call) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, call).getMessage());
    }

    private static void assertNull(String message, Executable call) {
        assertEquals(message, assertThrows(NullPointerException.class, call).getMessage());
    }

    @Test
    void defaultsVerifyHostNamesAndTrustTheCertificatesOfTheJdk() {
        assertEquals("TlsOptions{trust=JDK, clientCertificate=none, protocols=[TLSv1.3, TLSv1.2],"
                + " hostNamesVerified=true, provider=AUTO}", TlsOptions.defaults().toString());
    }

    @Test
    void eachMethodReturnsAChangedCopy() {
        TlsOptions all = TlsOptions.defaults()
                .trustCertificates(FILE, Path.of("b.pem"))
                .clientCertificate(FILE, Path.of("a.key"))
                .protocols("TLSv1.2")
                .acceptAnyHostName()
                .provider(TlsProvider.JDK);
        assertEquals("TlsOptions{trust=[a.pem, b.pem], clientCertificate=a.pem and a.key, protocols=[TLSv1.2],"
                + " hostNamesVerified=false, provider=JDK}", all.toString());
        assertEquals("TlsOptions{trust=s.p12, clientCertificate=k.p12, protocols=[TLSv1.2],"
                + " hostNamesVerified=false, provider=JDK}",
                all.trustStore(Path.of("s.p12"), SECRET).clientKeyStore(Path.of("k.p12"), SECRET).toString());
        defaultsVerifyHostNamesAndTrustTheCertificatesOfTheJdk();
    }

    @Test
    void textsShowNoPassword() {
        TlsOptions options = TlsOptions.defaults().trustStore(FILE, SECRET);
        RedlockContext context = new RedlockContext().nodes("rediss://h:1");
        for (TlsOptions each : new TlsOptions[]{options, options.clientKeyStore(FILE, SECRET),
            options.clientCertificate(FILE, FILE, SECRET)}) {
            assertFalse(each.toString().contains("secret"), each::toString);
            assertFalse(context.tls(each).toString().contains("secret"), context::toString);
        }
    }

    @Test
    void badInputIsRejectedWithTheFix() {
        TlsOptions options = TlsOptions.defaults();
        assertInvalid("no trusted certificate file is given: give at least one PEM file", options::trustCertificates);
        assertInvalid("no TLS protocol is given: use TLSv1.3, TLSv1.2 or both", options::protocols);
        for (String old : new String[]{"TLSv1.1", "SSLv3", "TLSv1.4", ""}) {
            assertInvalid("TLS protocol \"" + old + "\" is not supported: use TLSv1.3, TLSv1.2 or both",
                    () -> options.protocols("TLSv1.2", old));
        }
        assertInvalid("TLS protocol \"TLSv1\\n" + "x".repeat(194) + "... (6 more characters)\" is not supported: use"
                + " TLSv1.3, TLSv1.2 or both", () -> options.protocols("TLSv1\n" + "x".repeat(200)));
        assertNull("TLS protocol is null", () -> options.protocols("TLSv1.2", null));
        assertNull("trusted certificate file is null", () -> options.trustCertificates(FILE, null));
        assertNull("trust store is null", () -> options.trustStore(null, SECRET));
        assertNull("key file is null", () -> options.clientCertificate(FILE, null));
        assertNull("password supplier is null: give () -> null for no password",
                () -> options.clientKeyStore(FILE, null));
        assertNull("TLS provider is null", () -> options.provider(null));
        assertNull("TLS options are null", () -> new RedlockContext().tls(null));
    }

    @Test
    void optionsWithoutAnAddressThatUsesThemAreRejected() {
        assertInvalid("TLS options are set and no node address asks for TLS: write rediss://h:1, or remove tls(...)",
                () -> Redlock.connect(new RedlockContext().nodes("h:1", "redis://h:2").tls(TlsOptions.defaults())));
        assertInvalid("TLS options are set and no node address asks for TLS: write rediss://host:port, or remove"
                + " tls(...)",
                () -> Redlock.connect(new RedlockContext().nodes("unix:///s").tls(TlsOptions.defaults())));
    }
}

package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;

/** The POMs hold what a published module needs, and the pages name the version that they publish. */
class PublishingTest {

    private static final List<String> PUBLISHED = List.of("pom.xml", "bom/pom.xml", "resp-codec/pom.xml",
            "redlock-core/pom.xml");

    @Test
    void everyModuleHasTheVersionOfTheRoot() throws Exception {
        String version = version();
        for (String pom : List.of("resp-codec", "redlock-core", "load-test", "jmh")) {
            assertEquals(version, text(child(root(pom + "/pom.xml"), "parent"), "version"), pom);
        }
        assertEquals(version, text(root("bom/pom.xml"), "version"), "bom");
    }

    @Test
    void theBomHasNoParentAndTheSameValuesAsTheRoot() throws Exception {
        Element bom = root("bom/pom.xml");
        assertEquals(null, child(bom, "parent"), "an importer of the BOM would get what its parent manages");
        Element own = child(bom, "properties");
        Element shared = child(root("pom.xml"), "properties");
        NodeList children = own.getChildNodes();
        int compared = 0;
        for (int i = 0; i < children.getLength(); i++) {
            if (children.item(i) instanceof Element property) {
                assertEquals(text(shared, property.getTagName()), property.getTextContent(), property.getTagName());
                compared++;
            }
        }
        assertTrue(compared >= 3, "compared " + compared);
    }

    @Test
    void theSamplesAreBuiltWithTheVersionsOfTheRoot() throws Exception {
        Element shared = child(root("pom.xml"), "properties");
        NodeList children = child(root("samples/pom.xml"), "properties").getChildNodes();
        int compared = 0;
        for (int i = 0; i < children.getLength(); i++) {
            if (children.item(i) instanceof Element property && child(shared, property.getTagName()) != null) {
                assertEquals(text(shared, property.getTagName()), property.getTextContent(), property.getTagName());
                compared++;
            }
        }
        assertTrue(compared >= 10, "compared " + compared);
    }

    @Test
    void snippetsNameTheNettyThatIsBuilt() throws Exception {
        String netty = text(child(root("pom.xml"), "properties"), "netty.version");
        int count = 0;
        for (Path page : DocPages.all()) {
            for (DocBlock block : DocBlock.in(page)) {
                if (block.language().matches("xml|kotlin") && block.text().contains("netty")) {
                    count++;
                    assertTrue(block.text().contains(netty), block::place);
                }
            }
        }
        assertTrue(count >= 4, "blocks with Netty: " + count);
    }

    @ParameterizedTest
    @ValueSource(strings = {"pom.xml", "bom/pom.xml"})
    void pomsHaveTheFieldsThatRegistriesRequire(String pom) throws Exception {
        Element project = root(pom);
        for (String name : List.of("name", "description", "url", "licenses", "developers", "scm")) {
            assertFalse(text(project, name).isBlank(), name + " of " + pom);
        }
        assertEquals("the redlock authors", child(child(project, "developers"), "developer")
                .getElementsByTagName("name")
                .item(0)
                .getTextContent());
    }

    @Test
    void onlyTheLibraryIsInstalledAndDeployed() throws Exception {
        for (String pom : PUBLISHED) {
            assertEquals("", skip(pom, "install") + skip(pom, "deploy"), pom);
        }
        for (String pom : List.of("load-test/pom.xml", "jmh/pom.xml")) {
            assertEquals("truetrue", skip(pom, "install") + skip(pom, "deploy"), pom);
        }
    }

    @Test
    void snippetsNameTheVersionThatIsBuilt() throws Exception {
        String version = version();
        List<String> wrong = new ArrayList<>();
        int count = 0;
        for (Path page : DocPages.all()) {
            for (DocBlock block : DocBlock.in(page)) {
                String text = String.join("\n", block.lines());
                if (block.language().equals("xml")) {
                    parse("<snippet>" + text + "</snippet>");
                }
                if (block.language().matches("xml|kotlin") && text.contains("dev.redlock")) {
                    count++;
                    if (!text.contains("<version>" + version + "</version>") && !text.contains(":" + version + "\"")) {
                        wrong.add(block.place());
                    }
                }
            }
        }
        assertEquals(List.of(), wrong, "snippets without version " + version);
        assertTrue(count >= 2, "README.md shows Maven and Gradle");
    }

    private static String skip(String pom, String goal) throws Exception {
        Element properties = child(root(pom), "properties");
        return properties == null ? "" : text(properties, "maven." + goal + ".skip");
    }

    private static String version() throws Exception {
        return text(root("pom.xml"), "version");
    }

    private static Element root(String pom) throws Exception {
        return parse(Files.readString(DocPages.root().resolve(pom))).getDocumentElement();
    }

    private static Document parse(String xml) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
        try {
            return factory.newDocumentBuilder()
                    .parse(new ByteArrayInputStream(xml.getBytes(StandardCharsets.UTF_8)));
        } catch (IOException | org.xml.sax.SAXException e) {
            throw new AssertionError("this is no XML: " + xml, e);
        }
    }

    /** The first child element with a name, or null. */
    private static Element child(Element parent, String name) {
        for (Node node = parent.getFirstChild(); node != null; node = node.getNextSibling()) {
            if (node instanceof Element element && element.getTagName().equals(name)) {
                return element;
            }
        }
        return null;
    }

    private static String text(Element parent, String name) {
        Element element = child(parent, name);
        return element == null ? "" : element.getTextContent();
    }
}

using Kv.Tests.Harness;

namespace Kv.Tests.Known;

/// <summary>The catalogue's entries about streams, as clients meet them.</summary>
public class StreamBugs
{
    // CVE-2022-35951: a COUNT whose product with the size of an id runs over.
    [Fact]
    public void Known_C13_ids_at_the_edges_huge_counts_and_claims_of_what_is_gone_leave_the_lists_right()
    {
        using var server = KvInstance.Start();
        Transcript.Check(server, """
            > XADD s 18446744073709551615-18446744073709551614 a 1
            < "18446744073709551615-18446744073709551614"
            > XADD s 18446744073709551615-* a 2
            < "18446744073709551615-18446744073709551615"
            > XADD s * a 3
            < -ERR The stream has exhausted the last possible ID, unable to add more items
            > XGROUP CREATE s g 0
            < +OK
            > XREADGROUP GROUP g c STREAMS s >
            < <any>
            > XREADGROUP GROUP g c STREAMS s >
            < nil[]
            > XREAD STREAMS s 18446744073709551615-18446744073709551615
            < nil[]
            > XRANGE s (18446744073709551615-18446744073709551615 +
            < -ERR invalid start ID for the interval
            > XAUTOCLAIM s g d 0 0 COUNT 4611686018427387903
            < -ERR COUNT must be > 0
            > XAUTOCLAIM s g d 0 0 COUNT 576460752303423488
            < -ERR COUNT must be > 0
            > XAUTOCLAIM s g d 0 0 COUNT 576460752303423487 JUSTID
            < ["0-0" ["18446744073709551615-18446744073709551614" "18446744073709551615-18446744073709551615"] []]
            > XAUTOCLAIM s g d 0 (18446744073709551615-18446744073709551615
            < -ERR invalid start ID for the interval
            > XDEL s 18446744073709551615-18446744073709551614
            < :1
            > XCLAIM s g e 0 18446744073709551615-18446744073709551614 FORCE
            < []
            > XCLAIM s g e 0 18446744073709551615-18446744073709551615 JUSTID
            < ["18446744073709551615-18446744073709551615"]
            > XCLAIM s g c 0 18446744073709551615-18446744073709551615 18446744073709551615-18446744073709551615 FORCE JUSTID
            < ["18446744073709551615-18446744073709551615" "18446744073709551615-18446744073709551615"]
            > XPENDING s g
            < [:1 "18446744073709551615-18446744073709551615" "18446744073709551615-18446744073709551615" [["c" "1"]]]
            > XCLAIM s g d 9223372036854775807 18446744073709551615-18446744073709551615 IDLE -9223372036854775808 RETRYCOUNT 9223372036854775807
            < []
            > XTRIM s MAXLEN 9223372036854775807
            < :0
            > XTRIM s MINID 18446744073709551615-18446744073709551615
            < :0
            > XGROUP DELCONSUMER s g c
            < :1
            > XPENDING s g
            < [:0 nil nil nil[]]
            """);
        server.Server.Store.CheckIntegrity();
    }

    // Unlike other collections: what is empty is not gone.
    [Fact]
    public void Known_C07_an_empty_stream_stays_and_its_ids_do_not_come_again() => Transcript.Check("""
        > XADD s 5-0 a 1
        < "5-0"
        > XTRIM s MAXLEN 0
        < :1
        > EXISTS s
        < :1
        > XADD s 5-0 a 1
        < -ERR The ID specified in XADD is equal or smaller than the target stream top item
        > XADD s 5-* a 1
        < "5-1"
        > XDEL s 5-1
        < :1
        > XLEN s
        < :0
        > XADD s 5-* a
        < -ERR wrong number of arguments for 'xadd' command
        > XADD s 5-* a 1
        < "5-2"
        """);
}

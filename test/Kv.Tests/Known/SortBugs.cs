using Kv.Tests.Harness;

namespace Kv.Tests.Known;

/// <summary>The catalogue's entries about SORT, as clients meet them.</summary>
public class SortBugs
{
    [Fact]
    public void Known_C14_keys_that_are_not_there_limits_without_bounds_and_the_source_as_destination() =>
        Transcript.Check("""
        > RPUSH l 3 1 2
        < :3
        > SET w_1 9
        < +OK
        > SORT l BY w_* GET # GET w_* GET h_*->f GET none
        < ["2" nil nil nil "3" nil nil nil "1" "9" nil nil]
        > SORT l BY none_*->f DESC
        < ["3" "2" "1"]
        > SORT l LIMIT 9223372036854775807 9223372036854775807
        < []
        > SORT l LIMIT -9223372036854775808 9223372036854775807
        < ["1" "2" "3"]
        > SORT l LIMIT 1 -9223372036854775808
        < ["2" "3"]
        > SORT l LIMIT 0 -1
        < ["1" "2" "3"]
        > SORT l STORE l
        < :3
        > LRANGE l 0 -1
        < ["1" "2" "3"]
        > SORT l BY w_* DESC LIMIT 0 2 GET # STORE l
        < :2
        > LRANGE l 0 -1
        < ["1" "3"]
        > SORT l LIMIT 2 2 STORE l
        < :0
        > EXISTS l
        < :0
        """);
}

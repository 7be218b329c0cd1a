namespace Kv.Protocol;

/// <summary>The version of RESP a session speaks; HELLO changes it. The numbers are those of the wire.</summary>
public enum RespVersion : byte
{
    /// <summary>Five types; a missing value is a bulk or an array of length -1.</summary>
    Resp2 = 2,

    /// <summary>Adds null, boolean, double, big number, verbatim text, map, set, attribute and push.</summary>
    Resp3 = 3,
}

package main

import (
	"context"
	"io"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// billOfMaterials writes what the programs consist of, in CycloneDX.
func (r *release) billOfMaterials(context.Context) error {
	ref := "pkg:golang/github.com/skein-im/skein@v" + r.version
	bom := cdx.NewBOM()
	bom.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceURL, []byte(ref+"#"+r.commit)).String()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.at.Format("2006-01-02T15:04:05Z"),
		Component: &cdx.Component{
			BOMRef: ref, Type: cdx.ComponentTypeApplication, Name: "skein", Version: r.version, PackageURL: ref,
			Licenses: licensesOf("Apache-2.0"),
			Properties: &[]cdx.Property{
				{Name: "skein:commit", Value: r.commit},
				{Name: "skein:platforms", Value: strings.Join(names(r.platforms), ",")},
			},
		},
	}
	var components []cdx.Component
	var refs []string
	add := func(name, version, purl string, licences ...string) {
		refs = append(refs, purl)
		components = append(components, cdx.Component{
			BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: purl, Licenses: licensesOf(licences...),
		})
	}
	for _, m := range r.modules {
		add(m.path, m.version, "pkg:golang/"+m.path+"@"+m.version, m.licences...)
	}
	for _, p := range r.npm {
		add(p.Name, p.Version, "pkg:npm/"+strings.Replace(p.Name, "@", "%40", 1)+"@"+p.Version, p.License)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: ref, Dependencies: &refs}}
	return r.write("skein_"+r.version+".cdx.json", func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cdx.SpecVersion1_6)
	})
}

func licensesOf(ids ...string) *cdx.Licenses {
	var all cdx.Licenses
	for _, id := range ids {
		all = append(all, cdx.LicenseChoice{License: &cdx.License{ID: id}})
	}
	return &all
}
